//! Foreign JSON, read in one pass and leniently: a field of another type than expected is as if it were not there, a
//! field that comes twice counts once, and texts without escapes are borrowed from the line.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The visitor's methods for kinds of values that count as missing.
macro_rules! missing {
    ($($kind:ident)*) => { $(crate::decode::wire::missing!(@ $kind);)* };
    (@ bool) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ number) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ text) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ null) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ list) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@ map) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

/// A struct with the named fields of an object; other fields are passed over.
macro_rules! record {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident $(<$life:lifetime>)? {
        $($field:ident: $kind:ty = $key:literal),* $(,)?
    })*) => { $(
        $(#[$meta])*
        #[derive(Debug, Default)]
        $vis struct $name $(<$life>)? {
            $($vis $field: $kind,)*
        }

        impl<'de $(: $life, $life)?> serde::Deserialize<'de> for $name $(<$life>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields $(<$life>)? (std::marker::PhantomData<$(&$life)? ()>);
                impl<'de $(: $life, $life)?> serde::de::Visitor<'de> for Fields $(<$life>)? {
                    type Value = $name $(<$life>)?;
                    crate::decode::wire::missing!(bool number text null list);

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<Self::Value, A::Error> {
                        let mut record = $name::default();
                        while let Some(key) = map.next_key::<crate::decode::wire::Str<'de>>()? {
                            match key.text() {
                                $($key => record.$field = map.next_value()?,)*
                                _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
                            }
                        }
                        Ok(record)
                    }
                }
                deserializer.deserialize_any(Fields(std::marker::PhantomData))
            }
        }
    )* };
}

pub(crate) use {missing, record};

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

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Real::deserialize(deserializer)?.1))
    }
}

/// A number, and the same as a whole one if it is written so.
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
                Ok(Real(Some(number), None))
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

/// A list.
#[derive(Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = List<T>;
            missing!(bool number text null map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(List(items))
            }
        }
        deserializer.deserialize_any(Items(PhantomData))
    }
}

/// The values of an object whose keys are names.
#[derive(Debug)]
pub(crate) struct Values<T>(pub(crate) Vec<T>);

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Values<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Values<T>;
            missing!(bool number text null list);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values<T>, A::Error> {
                let mut values = Vec::new();
                while map.next_key::<IgnoredAny>()?.is_some() {
                    values.push(map.next_value()?);
                }
                Ok(Values(values))
            }
        }
        deserializer.deserialize_any(Entries(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::{Flag, Int, List, Real, Str, Values};

    record! {
        struct Sample<'a> {
            text: Str<'a> = "text",
            number: Int = "number",
            real: Real = "real",
            flag: Flag = "flag",
            list: List<Str<'a>> = "list",
            inner: Option<Inner> = "inner",
            values: Values<Int> = "values",
        }
        struct Inner { number: Int = "number" }
    }

    #[test]
    fn wrong_types_and_unknown_fields_are_passed_over() {
        let every = ["null", "true", "7", "-7", "1.5", "\"x\"", "[1,[2]]", "{\"a\":{}}"];
        for value in every {
            let line = format!(
                r#"{{"text":{value},"number":{value},"real":{value},"flag":{value},"list":{value},"inner":{value},"values":{value},"other":{value}}}"#
            );
            let sample: Sample<'_> = serde_json::from_str(&line).unwrap();
            assert_eq!(sample.text.0.is_some(), value == "\"x\"");
            assert_eq!(sample.number.0, value.parse().ok());
            assert_eq!(sample.real.0, value.parse().ok());
            assert_eq!(sample.flag.0, value.parse().ok());
            assert_eq!(sample.list.0.len(), if value.starts_with('[') { 2 } else { 0 });
            assert_eq!(sample.inner.is_some(), value != "null");
            assert_eq!(sample.values.0.len(), usize::from(value.starts_with('{')));
            let none: Sample<'_> = serde_json::from_str(value).unwrap();
            assert!(none.text.0.is_none() && none.inner.is_none_or(|inner| inner.number.0.is_none()));
        }
    }

    #[test]
    fn the_last_of_two_counts_and_escaped_keys_are_keys() {
        let sample: Sample<'_> =
            serde_json::from_str(r#"{"text":"a","te\u0078t":"b\n","number":18446744073709551615}"#).unwrap();
        assert_eq!(sample.text.text(), "b\n");
        assert_eq!((sample.number.0, sample.number.count()), (None, 0));
    }
}
