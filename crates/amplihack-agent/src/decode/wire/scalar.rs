//! Single values: texts, numbers, yes and no.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde_json::value::RawValue;

use super::missing;
use crate::event::UsageTotals;

/// A text.
#[derive(Debug, Clone, Default)]
pub(crate) struct WireText<'a>(pub(crate) Option<Cow<'a, str>>);

impl WireText<'_> {
    /// The text; empty if there is none.
    pub(crate) fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// The text, to be kept, if there is one.
    pub(crate) fn into_option(self) -> Option<String> {
        self.0.map(Cow::into_owned)
    }

    /// The text, to be kept; empty if there is none.
    pub(crate) fn into_string(self) -> String {
        self.into_option().unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireTextVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for WireTextVisitor<'a> {
            type Value = WireText<'a>;
            missing!(bool number null list map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(WireText(Some(Cow::Borrowed(text))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(WireText(Some(Cow::Owned(text.to_owned()))))
            }
        }
        deserializer.deserialize_any(WireTextVisitor(PhantomData))
    }
}

/// The text that `json` is, to be kept; `None` for other values.
pub(crate) fn json_text(json: &RawValue) -> Option<String> {
    serde_json::from_str::<WireText<'_>>(json.get()).ok()?.into_option()
}

/// A whole number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WireInt(pub(crate) Option<i64>);

impl WireInt {
    /// The number as a count; 0 if there is none.
    pub(crate) fn count_or_zero(self) -> u64 {
        self.as_count().unwrap_or_default()
    }

    /// The number as a count, if it is one.
    pub(crate) fn as_count(self) -> Option<u64> {
        self.0.and_then(|number| u64::try_from(number).ok())
    }
}

/// Amounts of an agent that counts what it read from and wrote to the cache as input.
pub(crate) fn whole_input(
    input: WireInt,
    output: WireInt,
    cache_read: WireInt,
    cache_write: WireInt,
) -> UsageTotals {
    UsageTotals::of_whole_input(
        input.count_or_zero(),
        output.count_or_zero(),
        cache_read.count_or_zero(),
        cache_write.count_or_zero(),
    )
}

impl<'de> Deserialize<'de> for WireInt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(WireReal::deserialize(deserializer)?.1))
    }
}

/// The whole number that a number without a fraction is, where every whole number of its size has a float of its own.
#[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
pub(crate) fn whole_number(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
}

/// A number, and the same as a whole one if it has no fraction: `12` and `12.0`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WireReal(pub(crate) Option<f64>, Option<i64>);

impl<'de> Deserialize<'de> for WireReal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireRealVisitor;
        #[expect(clippy::cast_precision_loss, reason = "amounts of money and requests are small")]
        impl<'de> Visitor<'de> for WireRealVisitor {
            type Value = WireReal;
            missing!(bool text null list map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E>(self, number: i64) -> Result<WireReal, E> {
                Ok(WireReal(Some(number as f64), Some(number)))
            }

            fn visit_u64<E>(self, number: u64) -> Result<WireReal, E> {
                Ok(WireReal(Some(number as f64), i64::try_from(number).ok()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<WireReal, E> {
                Ok(WireReal(Some(number), whole_number(number)))
            }
        }
        deserializer.deserialize_any(WireRealVisitor)
    }
}

/// Yes or no.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WireFlag(pub(crate) Option<bool>);

impl<'de> Deserialize<'de> for WireFlag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireFlagVisitor;
        impl<'de> Visitor<'de> for WireFlagVisitor {
            type Value = WireFlag;
            missing!(number text null list map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true or false")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<WireFlag, E> {
                Ok(WireFlag(Some(flag)))
            }
        }
        deserializer.deserialize_any(WireFlagVisitor)
    }
}
