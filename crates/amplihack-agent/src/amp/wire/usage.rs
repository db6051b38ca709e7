//! Token counts.

use serde_json::{Map, Value};

use super::MessageReadError;
use super::scan::JsonCursor;
use super::untyped_fields::{UntypedFields, put_count, put_value, read_unknown_field};

/// Tokens of a message or of a whole run. Absent and `null` counts are 0.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AmpUsage {
    /// Tokens of the request that no cache held.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Tokens that were put into the cache.
    pub cache_creation_input_tokens: u64,
    /// Tokens that came from the cache.
    pub cache_read_input_tokens: u64,
    /// The tier of service.
    pub service_tier: Option<String>,
    /// Further keys.
    pub extra: Map<String, Value>,
    kept: UntypedFields,
}

impl AmpUsage {
    fn token_counts(&self) -> [(&'static str, u64); 4] {
        [
            ("input_tokens", self.input_tokens),
            ("output_tokens", self.output_tokens),
            ("cache_creation_input_tokens", self.cache_creation_input_tokens),
            ("cache_read_input_tokens", self.cache_read_input_tokens),
        ]
    }

    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start_map(&self.extra);
        for (key, count) in self.token_counts() {
            put_count(&mut map, key, (count > 0).then_some(count));
        }
        put_value(&mut map, "service_tier", self.service_tier.clone());
        Value::Object(map)
    }

    /// Reads an object. A count that is there and is no count is refused: a wrong bill is worse than none.
    pub(super) fn read(cursor: &mut JsonCursor<'_>) -> Result<Self, MessageReadError> {
        let mut usage = Self::default();
        cursor.read_object(|cursor, key| {
            let kept = &mut usage.kept;
            match key.as_ref() {
                "input_tokens" => usage.input_tokens = read_token_count(kept, "input_tokens", cursor)?,
                "output_tokens" => usage.output_tokens = read_token_count(kept, "output_tokens", cursor)?,
                "cache_creation_input_tokens" => {
                    usage.cache_creation_input_tokens =
                        read_token_count(kept, "cache_creation_input_tokens", cursor)?;
                }
                "cache_read_input_tokens" if amplihack_sys::sabotage::is_active("amp-wire-usage") => {
                    kept.keep_next("cache_read_input_tokens", cursor)?;
                }
                "cache_read_input_tokens" => {
                    usage.cache_read_input_tokens =
                        read_token_count(kept, "cache_read_input_tokens", cursor)?;
                }
                "service_tier" => usage.service_tier = kept.read_text("service_tier", cursor)?,
                _ => read_unknown_field(&mut usage.extra, key, cursor)?,
            }
            Ok::<_, MessageReadError>(())
        })?;
        Ok(usage)
    }
}

fn read_token_count(
    kept: &mut UntypedFields,
    key: &'static str,
    cursor: &mut JsonCursor<'_>,
) -> Result<u64, MessageReadError> {
    if cursor.peek() == b'n' {
        kept.keep_next(key, cursor)?;
        return Ok(0);
    }
    let from = cursor.position();
    match kept.read_count(key, cursor)? {
        Some(0) => {
            cursor.move_to(from);
            kept.keep_next(key, cursor)?;
            Ok(0)
        }
        Some(count) => Ok(count),
        None => Err(MessageReadError::Field("usage holds a count that is no whole number from 0")),
    }
}
