//! The time by the machine's clock.

use std::time::SystemTime;

use netenf_learn::Timestamp;

/// Now.
pub(crate) fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}
