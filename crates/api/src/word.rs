//! Enums that are one fixed word each, in JSON, on the command line and in print.

/// A word that is none of those an enum knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is no {what}, expected one of {}", expected.join(", "))]
pub struct UnknownWord {
    /// What the word should have named.
    pub what: &'static str,
    /// The word that was given.
    pub word: String,
    /// The words that would have been understood.
    pub expected: &'static [&'static str],
}

/// Defines an enum of unit variants with one spelling each for serde, `Display` and `FromStr`.
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $what:literal
        pub enum $name:ident {
            $( $(#[$variant_attribute:meta])* $variant:ident = $word:literal, )+
        }
    ) => {
        $(#[$attribute])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord,
            ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema,
        )]
        pub enum $name {
            $( $(#[$variant_attribute])* #[serde(rename = $word)] $variant, )+
        }

        impl $name {
            /// Every value, in the order of its definition.
            pub const ALL: &[Self] = &[$( Self::$variant, )+];

            /// The one spelling of this value.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::word::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word).ok_or_else(|| {
                    $crate::word::UnknownWord {
                        what: $what,
                        word: word.to_owned(),
                        expected: &[$( $word, )+],
                    }
                })
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests;
