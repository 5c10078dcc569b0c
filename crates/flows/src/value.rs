//! Values as proto JSON may spell them: integers as numbers or strings, enums as names or numbers.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;

use netenf_learn::Timestamp;
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

use crate::time::rfc3339;

/// A text, borrowed from the line unless it holds escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

/// An integer in the range of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Integer<T>(pub(crate) T);

/// A member of an enum of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member<T>(pub(crate) T);

/// A member of an enum that is open: by its name, or by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Open<'a> {
    Name(Cow<'a, str>),
    Number(u64),
}

/// An enum of the source: names on the wire, or the numbers of its proto.
pub(crate) trait Enum: Sized {
    /// The member of this name; unknown names have a member too.
    fn of_name(name: &str) -> Self;
    /// The member of this number.
    fn of_number(number: i64) -> Self;
}

/// An integer type with a meaning.
pub(crate) trait Whole: TryFrom<i128> {
    /// What it counts, as an error calls it.
    const MEANING: &str;
}

impl Whole for u8 {
    const MEANING: &str = "an integer from 0 to 255";
}

impl Whole for u16 {
    const MEANING: &str = "a port from 0 to 65535";
}

impl Whole for i32 {
    const MEANING: &str = "an integer of 32 bits";
}

impl Whole for u32 {
    const MEANING: &str = "an unsigned integer of 32 bits";
}

impl Whole for i64 {
    const MEANING: &str = "an integer of 64 bits";
}

impl Whole for u64 {
    const MEANING: &str = "an unsigned integer of 64 bits";
}

/// An IP address; `None` for an empty text, which proto JSON uses for "not set".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) Option<IpAddr>);

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Timestamp);

// === impl Text ===

impl Text<'_> {
    /// The text, unless it is empty: proto JSON does not tell empty from absent.
    pub(crate) fn filled(text: Option<&Self>) -> Option<&str> {
        text.map(|text| &*text.0).filter(|text| !text.is_empty())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            #[inline]
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

// === impl Integer ===

impl<'de, T: Whole> Deserialize<'de> for Integer<T> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntegerVisitor(PhantomData))
    }
}

struct IntegerVisitor<T>(PhantomData<T>);

impl<T: Whole> IntegerVisitor<T> {
    fn whole<E: Error>(number: i128, seen: Unexpected<'_>) -> Result<Integer<T>, E> {
        T::try_from(number).map(Integer).map_err(|_| E::invalid_value(seen, &T::MEANING))
    }
}

impl<T: Whole> Visitor<'_> for IntegerVisitor<T> {
    type Value = Integer<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(T::MEANING)
    }

    #[inline]
    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Self::whole(number.into(), Unexpected::Unsigned(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Self::whole(number.into(), Unexpected::Signed(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match text.parse() {
            Ok(number) => Self::whole(number, Unexpected::Str(text)),
            Err(_) => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

// === impl Member ===

impl<'de, T: Enum> Deserialize<'de> for Member<T> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MemberVisitor(PhantomData))
    }
}

struct MemberVisitor<T>(PhantomData<T>);

impl<T: Enum> Visitor<'_> for MemberVisitor<T> {
    type Value = Member<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name or number of an enum")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Member(T::of_name(text)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Member(T::of_number(i64::try_from(number).unwrap_or(i64::MAX))))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Member(T::of_number(number)))
    }
}

// === impl Open ===

impl<'de: 'a, 'a> Deserialize<'de> for Open<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OpenVisitor;
        impl<'de> Visitor<'de> for OpenVisitor {
            type Value = Open<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name or number of an enum")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Open::Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Open::Name(Cow::Owned(text.to_owned())))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Open::Number(number))
            }
        }
        deserializer.deserialize_any(OpenVisitor)
    }
}

// === impl Address ===

/// An address in its one spelling: IPv4 mapped into IPv6 is IPv4.
pub(crate) fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(|address: IpAddr| address.to_canonical())
}

impl<'de> Deserialize<'de> for Address {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AddressVisitor;
        impl Visitor<'_> for AddressVisitor {
            type Value = Address;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an IP address")
            }

            #[inline]
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                match address(text) {
                    None if !text.is_empty() => Err(E::invalid_value(Unexpected::Str(text), &self)),
                    address => Ok(Address(address)),
                }
            }
        }
        deserializer.deserialize_str(AddressVisitor)
    }
}

// === impl Time ===

impl<'de> Deserialize<'de> for Time {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimeVisitor;
        impl Visitor<'_> for TimeVisitor {
            type Value = Time;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a time of RFC 3339")
            }

            #[inline]
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let time = rfc3339(text);
                time.map(Time).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(TimeVisitor)
    }
}
