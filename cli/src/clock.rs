//! The present, which tests can set.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_learn as learn;

use crate::error::CommandError;

/// Environment variable that sets the clock, so that tests compare whole outputs.
const SET: &str = "NETENF_TEST_NOW";

/// Now, in whole seconds as the Kubernetes API keeps times.
pub(crate) fn now() -> Timestamp {
    let set = std::env::var(SET).ok().and_then(|text| text.parse::<Timestamp>().ok());
    let now = set.unwrap_or_else(Timestamp::now);
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// How long ago, as kubectl prints ages: the largest unit that fits.
pub(crate) fn age(time: Option<&Time>) -> String {
    let Some(time) = time else { return "<unknown>".to_owned() };
    span(now().as_second().saturating_sub(time.0.as_second()).max(0))
}

/// A length of time in words.
pub(crate) fn span(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Reads a length of time such as `90s`, `10m`, `1h30m` or `7d`.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    let wrong =
        || format!("{text:?} is no length of time; write for example 90s, 10m, 1h30m or 7d");
    let mut rest = text;
    let mut sum = 0_i64;
    while !rest.is_empty() {
        let at = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = rest.split_at(at);
        let factor = match unit.as_bytes() {
            [b's', ..] => 1,
            [b'm', ..] => 60,
            [b'h', ..] => 3_600,
            [b'd', ..] => 86_400,
            _ => return Err(wrong()),
        };
        let part = number.parse::<i64>().ok().and_then(|number| number.checked_mul(factor));
        sum = part.and_then(|part| sum.checked_add(part)).ok_or_else(wrong)?;
        rest = &unit[1..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(sum) }
}

/// A time, or how long before `now`.
pub(crate) fn point(text: &str, now: Timestamp) -> Result<learn::Timestamp, CommandError> {
    let ago = |seconds: i64| Timestamp::from_second(now.as_second().checked_sub(seconds)?).ok();
    let time = match (text.parse::<Timestamp>(), seconds(text)) {
        (Ok(time), _) => Some(time),
        (Err(_), Ok(seconds)) => ago(seconds),
        (Err(_), Err(_)) => None,
    };
    let nanos = time.and_then(|time| i64::try_from(time.as_nanosecond()).ok());
    nanos.map(learn::Timestamp).ok_or_else(|| {
        CommandError::usage(format!("{text:?} is no time"))
            .hint("write a time such as 2026-09-01T10:00:00Z, or an age such as 5m, 2h or 3d")
    })
}

#[cfg(test)]
mod tests;
