use rstest::rstest;

use super::*;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

const RESOLVER: &str = "10.96.0.10";

fn cache(scope: Scope) -> DomainCache {
    let resolvers = [address(RESOLVER)].into();
    DomainCache::new(Settings { scope, resolvers, grace: at(0), ..Settings::default() })
}

/// Records as `owner TTL value`, an address or the target of an alias.
fn answer<'a>(question: &'a str, records: &'a [&'a str]) -> Answer<'a> {
    let record = |text: &&'a str| {
        let mut parts = text.split(' ');
        let (owner, ttl, value) =
            (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let data = value.parse().map_or(Data::Alias(value), Data::Address);
        Record { owner, ttl: at(ttl.parse().unwrap()), data }
    };
    Answer {
        resolver: address(RESOLVER),
        asker: Asker::Pod("shop".into(), "web".into()),
        question,
        records: records.iter().map(record).collect(),
    }
}

fn holds(cache: &DomainCache, pattern: &str, one: &str, now: u64) -> bool {
    cache.holds(&Pattern::parse(pattern).unwrap(), address(one), &Asker::Node, at(now))
}

#[rstest]
#[case::exact("www.example.com", true)]
#[case::wildcard("*.example.com", true)]
#[case::apex("example.com", false)]
#[case::alias_target("cdn.example.net", true)]
#[case::wildcard_of_target("*.example.net", true)]
#[case::unrelated_owner("evil.example.org", false)]
fn an_answer_tells_the_names_of_its_chain(#[case] pattern: &str, #[case] expected: bool) {
    let mut cache = cache(Scope::Node);
    let records = [
        "cdn.Example.NET. 60 192.0.2.7",
        "evil.example.org 60 192.0.2.7",
        "WWW.example.com 60 cdn.example.net",
    ];
    cache.observe(&answer("wWw.Example.com.", &records), at(0)).unwrap();
    assert_eq!(holds(&cache, pattern, "192.0.2.7", 1), expected);
}

#[rstest]
#[case::floor(1, 29, true)]
#[case::floor_ends(1, 30, false)]
#[case::as_told(100, 99, true)]
#[case::as_told_ends(100, 100, false)]
#[case::cap(86_400, 299, true)]
#[case::cap_ends(86_400, 300, false)]
#[case::zero(0, 29, true)]
fn a_life_is_clamped(#[case] ttl: u64, #[case] now: u64, #[case] expected: bool) {
    let mut cache = cache(Scope::Node);
    let record = format!("a.example.com {ttl} 192.0.2.7");
    cache.observe(&answer("a.example.com", &[&record]), at(0)).unwrap();
    assert_eq!(holds(&cache, "a.example.com", "192.0.2.7", now), expected);
}

#[test]
fn an_alias_that_lives_shorter_ends_what_it_leads_to() {
    let mut cache = cache(Scope::Node);
    let records = ["a.example.com 40 b.example.com", "b.example.com 200 192.0.2.7"];
    cache.observe(&answer("a.example.com", &records), at(0)).unwrap();
    assert!(!holds(&cache, "a.example.com", "192.0.2.7", 50));
    assert!(holds(&cache, "b.example.com", "192.0.2.7", 50));
}

#[test]
fn a_repeated_answer_restarts_the_time_and_never_shortens_it() {
    let mut cache = cache(Scope::Node);
    cache.observe(&answer("a.example.com", &["a.example.com 200 192.0.2.7"]), at(0)).unwrap();
    cache.observe(&answer("a.example.com", &["a.example.com 1 192.0.2.7"]), at(10)).unwrap();
    assert!(holds(&cache, "a.example.com", "192.0.2.7", 199));
    cache.observe(&answer("a.example.com", &["a.example.com 200 192.0.2.7"]), at(190)).unwrap();
    assert!(holds(&cache, "a.example.com", "192.0.2.7", 389));
    assert_eq!(cache.len(), 1);
}

#[test]
fn only_configured_resolvers_are_believed() {
    let mut cache = cache(Scope::Node);
    let answer = Answer {
        resolver: address("10.0.0.66"),
        ..answer("a.example.com", &["a.example.com 60 192.0.2.7"])
    };
    assert_eq!(cache.observe(&answer, at(0)), Err(Refusal::Resolver));
    assert!(cache.is_empty());
}

#[test]
fn what_a_pod_asked_counts_for_it_alone_in_the_scope_of_pods() {
    let mut cache = cache(Scope::Pod);
    cache.observe(&answer("a.example.com", &["a.example.com 60 192.0.2.7"]), at(0)).unwrap();
    let pattern = Pattern::parse("a.example.com").unwrap();
    let holds = |asker| cache.holds(&pattern, address("192.0.2.7"), &asker, at(1));
    assert!(holds(Asker::Pod("shop".into(), "web".into())));
    assert!(!holds(Asker::Pod("shop".into(), "other".into())));
    assert!(!holds(Asker::Node));
    let removed = cache.forget(&Asker::Pod("shop".into(), "web".into()));
    assert_eq!(removed.len(), 1);
    assert!(cache.is_empty());
}

#[test]
fn a_name_keeps_at_least_a_hundred_addresses_and_memory_is_bounded() {
    let settings = Settings {
        addresses_of_name: 1,
        entries: 150,
        resolvers: [address(RESOLVER)].into(),
        ..Settings::default()
    };
    let mut cache = DomainCache::new(settings);
    for index in 0..=255 {
        let record = format!("a.example.com 60 192.0.2.{index}");
        cache.observe(&answer("a.example.com", &[&record]), at(index)).unwrap();
    }
    assert_eq!((cache.len(), cache.evicted()), (100, 156));
    for index in 0..100 {
        let (name, record) = (format!("n{index}.io"), format!("n{index}.io 300 192.0.2.1"));
        cache.observe(&answer(&name, &[&record]), at(300)).unwrap();
    }
    assert_eq!((cache.len(), cache.evicted()), (150, 206));
}

#[test]
fn what_expired_is_collected() {
    let mut cache = cache(Scope::Node);
    cache.observe(&answer("a.example.com", &["a.example.com 60 192.0.2.7"]), at(0)).unwrap();
    cache.observe(&answer("b.example.com", &["b.example.com 200 192.0.2.7"]), at(0)).unwrap();
    assert_eq!(cache.collect(at(59)).len(), 0);
    assert_eq!(cache.collect(at(60)).len(), 1);
    assert_eq!(cache.known(address("192.0.2.7")).count(), 1);
    assert_eq!(cache.collect(at(1_000)).len(), 1);
    assert!(cache.is_empty() && cache.names.is_empty() && cache.by_address.is_empty());
}

#[test]
fn a_loop_of_aliases_ends() {
    let mut cache = cache(Scope::Node);
    let records = ["a.io 60 b.io", "b.io 60 a.io", "a.io 60 192.0.2.7"];
    cache.observe(&answer("a.io", &records), at(0)).unwrap();
    assert!(holds(&cache, "a.io", "192.0.2.7", 1));
}
