mod crash;
mod files;
mod hostile;
mod layout;
mod link;
mod locking;
mod property;
mod support;
