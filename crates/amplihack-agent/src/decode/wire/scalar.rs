//! Single values: texts, numbers, yes and no.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Visitor};

use super::missing;
use crate::event::Totals;

/// A text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Str<'a>(pub(crate) Option<Cow<'a, str>>);

impl Str<'_> {
    /// The text; empty if there is none.
    pub(crate) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// The text, to be kept, if there is one.
    pub(crate) fn own(self) -> Option<String> {
        self.0.map(Cow::into_owned)
    }

    /// The text, to be kept; empty if there is none.
    pub(crate) fn string(self) -> String {
        self.own().unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Texts<'a> {
            type Value = Str<'a>;
            missing!(bool number null list map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Str(Some(Cow::Borrowed(text))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Str(Some(Cow::Owned(text.to_owned()))))
            }
        }
        deserializer.deserialize_any(Texts(PhantomData))
    }
}

/// A whole number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Int(pub(crate) Option<i64>);

impl Int {
    /// The number as a count; 0 if there is none.
    pub(crate) fn count(self) -> u64 {
        self.counted().unwrap_or_default()
    }

    /// The number as a count, if it is one.
    pub(crate) fn counted(self) -> Option<u64> {
        self.0.and_then(|number| u64::try_from(number).ok())
    }
}

/// Amounts of an agent that counts what it read from and wrote to the cache as input.
pub(crate) fn whole_input(input: Int, output: Int, cache_read: Int, cache_write: Int) -> Totals {
    Totals::of_whole_input(input.count(), output.count(), cache_read.count(), cache_write.count())
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Real::deserialize(deserializer)?.1))
    }
}

/// The whole number that a number without a fraction is, where every whole number of its size has a float of its own.
#[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
pub(crate) fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
}

/// A number, and the same as a whole one if it has no fraction: `12` and `12.0`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Real(pub(crate) Option<f64>, Option<i64>);

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        #[expect(clippy::cast_precision_loss, reason = "amounts of money and requests are small")]
        impl<'de> Visitor<'de> for Numbers {
            type Value = Real;
            missing!(bool text null list map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E>(self, number: i64) -> Result<Real, E> {
                Ok(Real(Some(number as f64), Some(number)))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Real, E> {
                Ok(Real(Some(number as f64), i64::try_from(number).ok()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Real, E> {
                Ok(Real(Some(number), whole(number)))
            }
        }
        deserializer.deserialize_any(Numbers)
    }
}

/// Yes or no.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flag(pub(crate) Option<bool>);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Flags;
        impl<'de> Visitor<'de> for Flags {
            type Value = Flag;
            missing!(number text null list map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true or false")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(Some(flag)))
            }
        }
        deserializer.deserialize_any(Flags)
    }
}
