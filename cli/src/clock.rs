//! The present, which tests can set.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

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
    let seconds = now().as_second().saturating_sub(time.0.as_second()).max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
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

/// Reads a length of time such as `90s`, `10m`, `24h` or `7d`.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    let wrong = || format!("{text:?} is no length of time, write for example 90s, 10m, 24h or 7d");
    let at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(at);
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    number.parse::<i64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}
