//! Claims about whole objects: what parses, what is written back, what the API server would say.

#[cfg(test)]
mod crd;
#[cfg(test)]
mod manifest;
#[cfg(test)]
mod validation;
