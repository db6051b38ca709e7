//! Output of a tool as one text, whatever form it has.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{WireText, missing, record};

/// A text, a list of blocks, or an object.
#[derive(Debug, Default)]
pub(crate) enum WireToolOutput<'a> {
    /// Nothing.
    #[default]
    None,
    /// A text.
    Text(Cow<'a, str>),
    /// Blocks.
    Blocks(Vec<&'a RawValue>),
}

record! {
    struct ToolOutputBlock<'a> {
        kind: WireText<'a> = "type",
        text: WireText<'a> = "text",
    }
}

impl WireToolOutput<'_> {
    /// The text: blocks of text joined by newlines, other blocks as their JSON.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Text(text) => text.into_owned(),
            Self::Blocks(blocks) => {
                let texts: Vec<Cow<'_, str>> = blocks.into_iter().map(text_of).collect();
                texts.join("\n")
            }
        }
    }
}

fn text_of(block: &RawValue) -> Cow<'_, str> {
    match serde_json::from_str::<ToolOutputBlock<'_>>(block.get()) {
        Ok(ToolOutputBlock { kind, text: WireText(Some(text)) }) if kind.text() == "text" => text,
        _ => Cow::Borrowed(block.get()),
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireToolOutput<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ToolOutputVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for ToolOutputVisitor<'a> {
            type Value = WireToolOutput<'a>;
            missing!(bool number null);

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text, a list of blocks, or an object")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(WireToolOutput::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(WireToolOutput::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element()? {
                    blocks.push(block);
                }
                Ok(WireToolOutput::Blocks(blocks))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let value = Value::deserialize(MapAccessDeserializer::new(map))?;
                Ok(WireToolOutput::Text(Cow::Owned(value.to_string())))
            }
        }
        deserializer.deserialize_any(ToolOutputVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::WireToolOutput;

    #[test]
    fn every_form_has_a_text() {
        for (json, expected) in [
            ("null", ""),
            (r#"" a\n""#, " a\n"),
            (
                r#"[{"type":"text","text":" a\n"},{"type":"image","data":"\ud83e"},3]"#,
                " a\n\n{\"type\":\"image\",\"data\":\"\\ud83e\"}\n3",
            ),
            (r#"{"error":1}"#, "{\"error\":1}"),
            ("[]", ""),
        ] {
            assert_eq!(serde_json::from_str::<WireToolOutput<'_>>(json).unwrap().into_text(), expected);
        }
    }
}
