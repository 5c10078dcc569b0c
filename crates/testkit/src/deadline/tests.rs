use std::time::Duration;

use anyhow::anyhow;
use rstest::rstest;

use super::within;

#[rstest]
#[case::at_once(Duration::ZERO, 1, Ok(1))]
#[case::later(Duration::MAX, 3, Ok(3))]
#[case::too_late(Duration::ZERO, 3, Err("the look that counts: not within 0 s"))]
fn a_condition_is_awaited(
    #[case] limit: Duration,
    #[case] counts: u32,
    #[case] expected: Result<u32, &str>,
) {
    let mut looks = 0;
    let found = within(limit, "the look that counts", || {
        looks += 1;
        Ok((looks == counts).then_some(looks))
    });
    assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
}

#[test]
fn a_look_that_fails_ends_the_waiting() {
    let found = within(Duration::MAX, "a look", || Err::<Option<()>, _>(anyhow!("cannot look")));
    assert_eq!(found.unwrap_err().to_string(), "cannot look");
}
