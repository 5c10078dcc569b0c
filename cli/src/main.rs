//! kubectl netenf.
fn main() {}
