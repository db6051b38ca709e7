//! Many values: lists, and objects whose keys are names.

use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{WireText, missing};

/// A list.
#[derive(Debug)]
pub(crate) struct WireList<T>(pub(crate) Vec<T>);

impl WireList<WireText<'_>> {
    /// The texts, to be kept.
    pub(crate) fn into_texts(self) -> Vec<String> {
        self.0.into_iter().filter_map(WireText::into_option).collect()
    }
}

impl<T> Default for WireList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WireList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for WireListVisitor<T> {
            type Value = WireList<T>;
            missing!(bool number text null map);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<WireList<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(WireList(items))
            }
        }
        deserializer.deserialize_any(WireListVisitor(PhantomData))
    }
}

/// The values of an object whose keys are names.
#[derive(Debug)]
pub(crate) struct WireValues<T>(pub(crate) Vec<T>);

impl<T> Default for WireValues<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WireValues<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireValuesVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for WireValuesVisitor<T> {
            type Value = WireValues<T>;
            missing!(bool number text null list);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireValues<T>, A::Error> {
                let mut values = Vec::new();
                while map.next_key::<IgnoredAny>()?.is_some() {
                    values.push(map.next_value()?);
                }
                Ok(WireValues(values))
            }
        }
        deserializer.deserialize_any(WireValuesVisitor(PhantomData))
    }
}

/// The entries of an object whose keys are names, in their order.
#[derive(Debug)]
pub(crate) struct WireEntries<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for WireEntries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WireEntries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireEntriesVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for WireEntriesVisitor<T> {
            type Value = WireEntries<T>;
            missing!(bool number text null list);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireEntries<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(WireEntries(entries))
            }
        }
        deserializer.deserialize_any(WireEntriesVisitor(PhantomData))
    }
}
