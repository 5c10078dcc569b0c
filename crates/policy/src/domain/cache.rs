//! Which addresses names were resolved to, by the answers that pods got.
//!
//! Rules of NPEP-133: answers count only if they come from a configured resolver; CNAMEs are followed inside
//! an answer; a name may have 100 addresses and more; an entry lives for its TTL, clamped, and a grace; a
//! repeated answer restarts the time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use super::{Name, Pattern, Tree};

/// How many CNAMEs of one answer are followed.
const MAX_CHAIN: usize = 16;
/// "Implementations must be able to store at least 100 addresses of a name" (NPEP-133).
const MIN_ADDRESSES: usize = 100;

/// For whom an answer counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// For everyone on the node.
    #[default]
    Node,
    /// For the pod that asked: no pod can open addresses for another.
    Pod,
}

/// Who asked for a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Asker {
    /// No pod, or nobody in particular.
    Node,
    /// The pod of that namespace and name.
    Pod(Arc<str>, Arc<str>),
}

/// Limits of the cache.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For whom an answer counts.
    pub scope: Scope,
    /// The shortest life of an entry.
    pub floor: Duration,
    /// The longest life of an entry.
    pub cap: Duration,
    /// Added to the life, so that a connection that follows its answer late is still known.
    pub grace: Duration,
    /// Addresses of one name, at least 100; the oldest go first.
    pub addresses_of_name: usize,
    /// Entries altogether; those that expire first go first.
    pub entries: usize,
    /// Whose answers count.
    pub resolvers: BTreeSet<IpAddr>,
}

/// An answer, already known to be one (QR set, no error) to the question it repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Who sent it.
    pub resolver: IpAddr,
    /// Who asked.
    pub asker: Asker,
    /// The name in the question.
    pub question: &'a str,
    /// The records of the answer section.
    pub records: Vec<Record<'a>>,
}

/// One record of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// The name that it belongs to.
    pub owner: &'a str,
    /// Its TTL.
    pub ttl: Duration,
    /// What it says.
    pub data: Data<'a>,
}

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data<'a> {
    /// A or AAAA.
    Address(IpAddr),
    /// CNAME.
    Alias(&'a str),
}

/// Why an answer was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Its sender is no configured resolver.
    Resolver,
    /// Its question is no name.
    Name,
}

/// Names and their addresses.
#[derive(Debug, Clone, Default)]
pub struct DomainCache {
    settings: Settings,
    /// The names that have an address.
    names: Tree<Name>,
    /// Until when, as in `by_address`. One map for all names: a map for each would take ten times the size of the
    /// one address that many have.
    by_name: BTreeMap<(Name, Asker, IpAddr), Duration>,
    by_address: BTreeMap<(IpAddr, Asker, Name), Duration>,
    by_expiry: BTreeSet<(Duration, Name, IpAddr, Asker)>,
    /// What pods were told, to be forgotten with them.
    by_pod: BTreeMap<Asker, BTreeSet<(Name, IpAddr)>>,
    evicted: u64,
}

/// One entry of an address: for whom, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known<'a> {
    /// The name that has the address.
    pub name: &'a Name,
    /// For whom.
    pub asker: &'a Asker,
    /// Until when.
    pub expires: Duration,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            floor: Duration::from_secs(30),
            cap: Duration::from_mins(5),
            grace: Duration::from_secs(10),
            addresses_of_name: 1_024,
            entries: 131_072,
            resolvers: BTreeSet::new(),
        }
    }
}

// === impl Asker ===

impl Asker {
    /// Whether what this asker learned counts for `subject`.
    pub fn tells(&self, subject: &Self) -> bool {
        *self == Self::Node || self == subject
    }
}

// === impl DomainCache ===

impl DomainCache {
    /// An empty cache.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes what `answer` tells at `now`. Gives the addresses of which something became known, each once.
    pub fn observe(
        &mut self,
        answer: &Answer<'_>,
        now: Duration,
    ) -> Result<BTreeSet<IpAddr>, Refusal> {
        if !self.settings.resolvers.contains(&answer.resolver) {
            return Err(Refusal::Resolver);
        }
        let question = Name::parse(answer.question).ok_or(Refusal::Name)?;
        let asker = match self.settings.scope {
            Scope::Node => Asker::Node,
            Scope::Pod => answer.asker.clone(),
        };
        let mut changed = BTreeSet::new();
        let mut chain = vec![(question, Duration::MAX)];
        while let Some((last, _)) = chain.last().cloned() {
            let own = answer.records.iter().filter(|record| is(record.owner, &last));
            let mut next = None;
            for record in own {
                match record.data {
                    Data::Address(address) => {
                        for (name, ttl) in &chain {
                            let expires = self.expiry(now, record.ttl.min(*ttl));
                            self.insert(name, address, &asker, expires, &mut changed);
                        }
                    }
                    Data::Alias(target) => {
                        next = next.or(Name::parse(target).map(|name| (name, record.ttl)));
                    }
                }
            }
            let Some((name, ttl)) = next else { break };
            if chain.len() > MAX_CHAIN || chain.iter().any(|(known, _)| *known == name) {
                break;
            }
            // A name before the alias lives no longer than the alias does.
            for (_, least) in &mut chain {
                *least = (*least).min(ttl);
            }
            chain.push((name, Duration::MAX));
        }
        Ok(changed)
    }

    /// Whether a name that `pattern` means has `address` at `now`, as far as `subject` was told.
    pub fn holds(
        &self,
        pattern: &Pattern,
        address: IpAddr,
        subject: &Asker,
        now: Duration,
    ) -> bool {
        self.meant(pattern)
            .any(|(asker, one, expires)| one == address && asker.tells(subject) && now < expires)
    }

    /// What is known of `address`, what expired but was not collected yet among it.
    pub fn known(&self, address: IpAddr) -> impl Iterator<Item = Known<'_>> {
        // No name is less than the empty one.
        let known = self.by_address.range((address, Asker::Node, Name(Arc::default()))..);
        let known = known.take_while(move |((one, ..), _)| *one == address);
        known.map(|((_, asker, name), expires)| Known { name, asker, expires: *expires })
    }

    /// The addresses of the names that `pattern` means, those of several names or askers more than once.
    pub fn addresses(&self, pattern: &Pattern) -> impl Iterator<Item = IpAddr> {
        self.meant(pattern).map(|(_, address, _)| address)
    }

    /// Removes what expired by `now`. Gives the addresses of which something was removed.
    pub fn collect(&mut self, now: Duration) -> BTreeSet<IpAddr> {
        let mut changed = BTreeSet::new();
        while self.by_expiry.first().is_some_and(|(expires, ..)| *expires <= now) {
            self.remove_first(&mut changed);
        }
        changed
    }

    /// Removes what only `asker` was told: its pod is gone, and a later one of that name is another.
    pub fn forget(&mut self, asker: &Asker) -> BTreeSet<IpAddr> {
        let own = self.by_pod.remove(asker).unwrap_or_default();
        for (name, address) in &own {
            let expires = self.by_address.get(&(*address, asker.clone(), name.clone()));
            if let Some(expires) = expires.copied() {
                self.remove(&(expires, name.clone(), *address, asker.clone()));
            }
        }
        own.into_iter().map(|(_, address)| address).collect()
    }

    /// How many entries there are: (name, address, asker).
    pub fn len(&self) -> usize {
        self.by_expiry.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.by_expiry.is_empty()
    }

    /// How many entries were dropped before their time, for want of room.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// What is known of the names that `pattern` means.
    fn meant(&self, pattern: &Pattern) -> impl Iterator<Item = (&Asker, IpAddr, Duration)> {
        let (name, below) = if pattern.wildcard {
            (None, Some(self.names.below(&pattern.name)))
        } else {
            (self.names.value(&pattern.name), None)
        };
        let names = name.into_iter().chain(below.into_iter().flatten());
        names.flat_map(|name| self.of(name, &Asker::Node))
    }

    /// What is known of a name, from an asker on; nobody is before the node.
    fn of(&self, name: &Name, from: &Asker) -> impl Iterator<Item = (&Asker, IpAddr, Duration)> {
        let first = (name.clone(), from.clone(), IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let known = self.by_name.range(first.clone()..);
        let known = known.take_while(move |((one, ..), _)| *one == first.0);
        known.map(|((_, asker, address), expires)| (asker, *address, *expires))
    }

    fn expiry(&self, now: Duration, ttl: Duration) -> Duration {
        let ttl = ttl.min(self.settings.cap).max(self.settings.floor);
        now.saturating_add(ttl).saturating_add(self.settings.grace)
    }

    fn insert(
        &mut self,
        name: &Name,
        address: IpAddr,
        asker: &Asker,
        expires: Duration,
        changed: &mut BTreeSet<IpAddr>,
    ) {
        let key = (name.clone(), asker.clone(), address);
        let known = self.by_name.get(&key).copied();
        if known.is_some_and(|known| known >= expires) {
            return;
        }
        self.by_name.insert(key, expires);
        if let Some(known) = known {
            self.by_expiry.remove(&(known, name.clone(), address, asker.clone()));
        }
        self.by_address.insert((address, asker.clone(), name.clone()), expires);
        self.by_expiry.insert((expires, name.clone(), address, asker.clone()));
        changed.insert(address);
        if known.is_none() {
            self.names.insert(name, name.clone());
            if *asker != Asker::Node {
                self.by_pod.entry(asker.clone()).or_default().insert((name.clone(), address));
            }
            self.evict_of_name(name, asker, changed);
        }
        while self.by_expiry.len() > self.settings.entries {
            self.remove_first(changed);
            self.evicted += 1;
        }
    }

    /// Drops the entry of `name` that expires first, if `asker` knows too many addresses of it.
    fn evict_of_name(&mut self, name: &Name, asker: &Asker, changed: &mut BTreeSet<IpAddr>) {
        let own = || self.of(name, asker).take_while(|(one, ..)| *one == asker);
        if own().count() <= self.settings.addresses_of_name.max(MIN_ADDRESSES) {
            return;
        }
        let first = own().min_by_key(|(_, _, expires)| *expires);
        let first =
            first.map(|(_, address, expires)| (expires, name.clone(), address, asker.clone()));
        if let Some(first) = first {
            self.remove(&first);
            changed.insert(first.2);
            self.evicted += 1;
        }
    }

    fn remove_first(&mut self, changed: &mut BTreeSet<IpAddr>) {
        if let Some(first) = self.by_expiry.first().cloned() {
            self.remove(&first);
            changed.insert(first.2);
        }
    }

    fn remove(&mut self, entry: &(Duration, Name, IpAddr, Asker)) {
        self.by_expiry.remove(entry);
        let (_, name, address, asker) = entry;
        self.by_name.remove(&(name.clone(), asker.clone(), *address));
        if self.of(name, &Asker::Node).next().is_none() {
            self.names.remove(name);
        }
        if let Some(own) = self.by_pod.get_mut(asker) {
            own.remove(&(name.clone(), *address));
            if own.is_empty() {
                self.by_pod.remove(asker);
            }
        }
        self.by_address.remove(&(*address, asker.clone(), name.clone()));
    }
}

fn is(text: &str, name: &Name) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    text.eq_ignore_ascii_case(name.as_str())
}

#[cfg(test)]
mod tests;
