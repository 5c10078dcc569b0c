mod crash;
mod files;
mod hostile;
mod layout;
mod locking;
mod property;
mod support;
