//! Where proposals and policies are kept: the [`Store`] that verbs work on, and the folder store.
//!
//! [`DirStore`] keeps one neat YAML file an object in a folder meant for Git. It writes atomically,
//! holds a lock against a second writer, refuses what changed since it was read, and keeps the comments
//! that a person wrote. What an object means, and what may be done with it, is decided in
//! `netenf_k8s::lifecycle`; this crate only keeps it.

mod comment;
mod diagnostic;
mod dir;
mod error;
mod store;
mod yaml;

pub use comment::keep_comments;
pub use diagnostic::{Diagnostic, Severity};
pub use dir::{DirStore, FileChange, MissingFolder, PlainFolder, Writer};
pub use error::StoreError;
pub use netenf_k8s::lifecycle::{Key, Kind, Record, Resource, Revision, Verb};
pub use store::{
    Applied, Batch, Blob, BlobChange, Change, History, Listing, Scope, Store, Stored, Version,
};
pub use yaml::to_neat_yaml;
