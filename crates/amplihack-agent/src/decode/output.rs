//! Output of a tool as one text, whatever form it has.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{WireText, missing, record};
use crate::event::AgentImage;

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
        // Of the Model Context Protocol.
        data: WireText<'a> = "data",
        mime_type: WireText<'a> = "mimeType",
        // Of the Messages API.
        source: Option<WireImageSource<'a>> = "source",
    }
    struct WireImageSource<'a> {
        media_type: WireText<'a> = "media_type",
        data: WireText<'a> = "data",
        url: WireText<'a> = "url",
    }
}

impl WireToolOutput<'_> {
    /// The text, blocks of text joined by newlines and other blocks as their JSON, and the images, which are left out of it.
    pub(crate) fn into_parts(self) -> (String, Vec<AgentImage>) {
        let mut images = Vec::new();
        let text = match self {
            Self::None => String::new(),
            Self::Text(text) => text.into_owned(),
            Self::Blocks(blocks) => {
                let texts: Vec<Cow<'_, str>> =
                    blocks.into_iter().filter_map(|block| text_or_image(block, &mut images)).collect();
                texts.join("\n")
            }
        };
        (text, images)
    }
}

/// The image that the block `json` is, in the form of the Messages API or of the Model Context Protocol.
pub(crate) fn block_image(json: &str) -> Option<AgentImage> {
    let block: ToolOutputBlock<'_> = serde_json::from_str(json).ok()?;
    (block.kind.text() == "image").then(|| block.into_image())?
}

impl ToolOutputBlock<'_> {
    fn into_image(self) -> Option<AgentImage> {
        let image = match self.source {
            Some(source) => AgentImage {
                media_type: source.media_type.into_option(),
                data: source.data.into_option(),
                uri: source.url.into_option(),
            },
            None => AgentImage {
                media_type: self.mime_type.into_option(),
                data: self.data.into_option(),
                uri: None,
            },
        };
        (image.data.is_some() || image.uri.is_some()).then_some(image)
    }
}

/// The text of `block`; one that is an image is added to `images` instead.
fn text_or_image<'a>(block: &'a RawValue, images: &mut Vec<AgentImage>) -> Option<Cow<'a, str>> {
    let read: ToolOutputBlock<'a> = serde_json::from_str(block.get()).unwrap_or_default();
    match read {
        ToolOutputBlock { kind, text: WireText(Some(text)), .. } if kind.text() == "text" => Some(text),
        read if read.kind.text() == "image" => match read.into_image() {
            Some(image) => {
                images.push(image);
                None
            }
            None => Some(Cow::Borrowed(block.get())),
        },
        _ => Some(Cow::Borrowed(block.get())),
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
            assert_eq!(serde_json::from_str::<WireToolOutput<'_>>(json).unwrap().into_parts().0, expected);
        }
    }

    #[test]
    fn images_are_no_text() {
        let json = r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},
            {"type":"text","text":"a"},{"type":"image","mimeType":"image/gif","data":"BB=="},
            {"type":"image","source":{"type":"url","url":"http://h/c"}},{"type":"image"}]"#;
        let (text, images) = serde_json::from_str::<WireToolOutput<'_>>(json).unwrap().into_parts();
        assert_eq!(text, "a\n{\"type\":\"image\"}");
        let told: Vec<_> = images
            .iter()
            .map(|image| [&image.media_type, &image.data, &image.uri].map(|text| text.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                [Some("image/png"), Some("AA=="), None],
                [Some("image/gif"), Some("BB=="), None],
                [None, None, Some("http://h/c")],
            ]
        );
    }
}
