//! Durations as arguments: `300ms`, `30s`, `5m`, `24h`.

use std::time::Duration;

pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("a duration is a number and ms, s, m or h: 30s".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "a duration begins with a number".to_owned())?;
    match number.checked_mul(milliseconds) {
        Some(0) => Err("a duration must be more than nothing".to_owned()),
        Some(all) => Ok(Duration::from_millis(all)),
        None => Err("the duration is too long".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::parse;

    #[rstest]
    #[case("300ms", Ok(300))]
    #[case("30s", Ok(30_000))]
    #[case("5m", Ok(300_000))]
    #[case("24h", Ok(86_400_000))]
    #[case("0s", Err("a duration must be more than nothing"))]
    #[case("30", Err("a duration is a number and ms, s, m or h: 30s"))]
    #[case("s", Err("a duration begins with a number"))]
    #[case("-1s", Err("a duration is a number and ms, s, m or h: 30s"))]
    #[case("99999999999999999h", Err("the duration is too long"))]
    fn durations_are_read(#[case] text: &str, #[case] expected: Result<u128, &str>) {
        let read = parse(text).map(|it| it.as_millis());
        assert_eq!(read, expected.map_err(str::to_owned));
    }
}
