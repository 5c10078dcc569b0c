//! stub
/// `new` with the comments of `old`.
pub fn keep_comments(_old: &str, new: &str) -> String { new.to_owned() }
