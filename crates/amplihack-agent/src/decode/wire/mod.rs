//! Foreign JSON, read in one pass and leniently: a field of another type than expected is as if it were not there, a
//! field that comes twice counts once, and texts without escapes are borrowed from the line.

mod list;
mod scalar;

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
                struct RecordVisitor $(<$life>)? (std::marker::PhantomData<$(&$life)? ()>);
                impl<'de $(: $life, $life)?> serde::de::Visitor<'de> for RecordVisitor $(<$life>)? {
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
                        while let Some(key) = map.next_key::<crate::decode::wire::WireText<'de>>()? {
                            match key.text() {
                                $($key => record.$field = map.next_value()?,)*
                                _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
                            }
                        }
                        Ok(record)
                    }
                }
                deserializer.deserialize_any(RecordVisitor(std::marker::PhantomData))
            }
        }
    )* };
}

pub(crate) use list::{WireEntries, WireList, WireValues};
pub(crate) use scalar::{WireFlag, WireInt, WireReal, WireText, json_text, whole_input, whole_number};
pub(crate) use {missing, record};

#[cfg(test)]
mod tests {
    use super::{WireEntries, WireFlag, WireInt, WireList, WireReal, WireText, WireValues};

    record! {
        struct Sample<'a> {
            text: WireText<'a> = "text",
            number: WireInt = "number",
            real: WireReal = "real",
            flag: WireFlag = "flag",
            list: WireList<WireText<'a>> = "list",
            inner: Option<Inner> = "inner",
            values: WireValues<WireInt> = "values",
            entries: WireEntries<WireInt> = "entries",
        }
        struct Inner { number: WireInt = "number" }
    }

    #[test]
    fn wrong_types_and_unknown_fields_are_passed_over() {
        let every = ["null", "true", "7", "-7", "1.5", "\"x\"", "[1,[2]]", "{\"a\":{}}"];
        for value in every {
            let line = format!(
                r#"{{"text":{value},"number":{value},"real":{value},"flag":{value},"list":{value},"inner":{value},"values":{value},"entries":{value},"other":{value}}}"#
            );
            let sample: Sample<'_> = serde_json::from_str(&line).unwrap();
            assert_eq!(sample.text.0.is_some(), value == "\"x\"");
            assert_eq!(sample.number.0, value.parse().ok());
            assert_eq!(sample.real.0, value.parse().ok());
            assert_eq!(sample.flag.0, value.parse().ok());
            assert_eq!(sample.list.0.len(), if value.starts_with('[') { 2 } else { 0 });
            assert_eq!(sample.inner.is_some(), value != "null");
            assert_eq!(sample.values.0.len(), usize::from(value.starts_with('{')));
            assert_eq!(sample.entries.0.len(), usize::from(value.starts_with('{')));
            let none: Sample<'_> = serde_json::from_str(value).unwrap();
            assert!(none.text.0.is_none() && none.inner.is_none_or(|inner| inner.number.0.is_none()));
        }
    }

    #[test]
    fn a_whole_number_may_be_written_as_a_fraction() {
        for (text, number) in
            [("12.0", Some(12)), ("1.2e1", Some(12)), ("-3.0", Some(-3)), ("12.5", None), ("1e300", None)]
        {
            let line = format!(r#"{{"number":{text},"real":{text}}}"#);
            let sample: Sample<'_> = serde_json::from_str(&line).unwrap();
            assert_eq!((sample.number.0, sample.real.0), (number, text.parse().ok()), "{text}");
        }
    }

    #[test]
    fn the_last_of_two_counts_and_escaped_keys_are_keys() {
        let sample: Sample<'_> =
            serde_json::from_str(r#"{"text":"a","te\u0078t":"b\n","number":18446744073709551615}"#).unwrap();
        assert_eq!(sample.text.text(), "b\n");
        assert_eq!((sample.number.0, sample.number.count_or_zero()), (None, 0));
    }
}
