//! What decided, in words. Names are as their objects hold them: who prints them escapes them.

use std::fmt::{Display, Formatter, Result};

use super::{Decider, Lack, Nearest, Object, RuleId};
use crate::cluster_policy::Tier;

impl Display for Decider {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        match self {
            Self::NoPod => formatter.write_str("no pod: no policy applies to it"),
            Self::Itself => formatter.write_str("a pod may always reach itself"),
            Self::OwnNode => formatter.write_str("a node may always reach its own pods"),
            Self::Rule(rule) => rule.fmt(formatter),
            Self::Isolated(policies) => {
                let all: Vec<String> = policies.iter().map(ToString::to_string).collect();
                write!(formatter, "no rule of {} allows it", all.join(", "))
            }
            Self::Default => formatter.write_str("no rule decides: allowed by default"),
        }
    }
}

/// A rule with its policy and tier.
impl Display for RuleId {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(formatter, "{} rule {}", self.object, self.index)?;
        if let Some(name) = &self.name {
            write!(formatter, " {name:?}")?;
        }
        formatter.write_str(match self.tier {
            Tier::Admin => ", Admin tier",
            Tier::NetworkPolicy => "",
            Tier::Baseline => ", Baseline tier",
        })
    }
}

impl Display for Object {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} {namespace}/{}", self.kind, self.name),
            None => write!(formatter, "{} {}", self.kind, self.name),
        }
    }
}

impl Display for Nearest {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let lacked: Vec<String> = self.lacked.iter().map(ToString::to_string).collect();
        write!(formatter, "{}, but {}", self.rule, lacked.join(" and "))
    }
}

impl Display for Lack {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        formatter.write_str(match self {
            Self::Precedence => "a rule before it denies",
            Self::Port => "not this port",
            Self::Protocol => "not this protocol",
            Self::Namespace => "not from or to this namespace",
            Self::Excepted => "its address is excepted",
            Self::Peer => "not this peer",
            Self::Understanding => "something in it is not understood",
        })
    }
}
