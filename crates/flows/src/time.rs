//! RFC 3339 texts to points in time.

use netenf_learn::Timestamp;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Reads an RFC 3339 time. The usual shape, UTC with at most nine digits of a second, is read by
/// hand; anything else is left to `jiff`. `None` is no time, or one that nanoseconds cannot hold.
pub(crate) fn rfc3339(text: &str) -> Option<Timestamp> {
    utc(text.as_bytes()).or_else(|| {
        let time: jiff::Timestamp = text.parse().ok()?;
        i64::try_from(time.as_nanosecond()).ok().map(Timestamp)
    })
}

/// `2026-11-30T01:54:03.690729757Z`, with any number of digits up to nine, or none.
fn utc(text: &[u8]) -> Option<Timestamp> {
    let (moment, rest) = text.split_first_chunk::<19>()?;
    let separators = [moment[4], moment[7], moment[10], moment[13], moment[16]];
    if separators != *b"--T::" {
        return None;
    }
    let number = |from: usize, to: usize| digits(&moment[from..to]);
    let days = days(number(0, 4)?, number(5, 7)?, number(8, 10)?)?;
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days * DAY + hour * 3600 + minute * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds(rest)?).map(Timestamp)
}

/// The part of a second in `.690729757Z`.
fn nanoseconds(rest: &[u8]) -> Option<i64> {
    match rest.strip_suffix(b"Z")? {
        [] => Some(0),
        [b'.', fraction @ ..] if matches!(fraction.len(), 1..=9) => {
            let missing = u32::try_from(9 - fraction.len()).ok()?;
            Some(digits(fraction)? * 10_i64.pow(missing))
        }
        _ => None,
    }
}

/// A number of decimal digits only.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then_some(sum * 10 + i64::from(digit))
    })
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, by counting from March of year 0.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let century = year.div_euclid(400);
    let of_century = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(
        century * 146_097 + of_century * 365 + of_century / 4 - of_century / 100 + of_year
            - 719_468,
    )
}

#[cfg(test)]
mod tests;
