//! First and last times of what was seen; a time that is not known says nothing.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The earlier of the two.
pub fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    [one, other].into_iter().flatten().min_by_key(|time| time.0)
}

/// The later of the two.
pub fn later(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    [one, other].into_iter().flatten().max_by_key(|time| time.0)
}
