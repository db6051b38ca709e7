//! Token counts.

use serde_json::{Map, Value};

use super::Refused;
use super::kept::{Kept, put, put_count, unknown};
use super::scan::Cursor;

/// Tokens of a message or of a whole run. Absent and `null` counts are 0.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Usage {
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
    kept: Kept,
}

impl Usage {
    fn counts(&self) -> [(&'static str, u64); 4] {
        [
            ("input_tokens", self.input_tokens),
            ("output_tokens", self.output_tokens),
            ("cache_creation_input_tokens", self.cache_creation_input_tokens),
            ("cache_read_input_tokens", self.cache_read_input_tokens),
        ]
    }

    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start(&self.extra);
        for (key, count) in self.counts() {
            put_count(&mut map, key, (count > 0).then_some(count));
        }
        put(&mut map, "service_tier", self.service_tier.clone());
        Value::Object(map)
    }

    /// Reads an object. A count that is there and is no count is refused: a wrong bill is worse than none.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Refused> {
        let mut usage = Self::default();
        cursor.object(|cursor, key| {
            let kept = &mut usage.kept;
            match key.as_ref() {
                "input_tokens" => usage.input_tokens = count(kept, "input_tokens", cursor)?,
                "output_tokens" => usage.output_tokens = count(kept, "output_tokens", cursor)?,
                "cache_creation_input_tokens" => {
                    usage.cache_creation_input_tokens = count(kept, "cache_creation_input_tokens", cursor)?;
                }
                "cache_read_input_tokens" if amplihack_utils::sabotage::active("amp-wire-usage") => {
                    kept.odd("cache_read_input_tokens", cursor)?;
                }
                "cache_read_input_tokens" => {
                    usage.cache_read_input_tokens = count(kept, "cache_read_input_tokens", cursor)?;
                }
                "service_tier" => usage.service_tier = kept.text("service_tier", cursor)?,
                _ => unknown(&mut usage.extra, key, cursor)?,
            }
            Ok::<_, Refused>(())
        })?;
        Ok(usage)
    }
}

fn count(kept: &mut Kept, key: &'static str, cursor: &mut Cursor<'_>) -> Result<u64, Refused> {
    if cursor.peek() == b'n' {
        kept.odd(key, cursor)?;
        return Ok(0);
    }
    let from = cursor.at();
    match kept.count(key, cursor)? {
        Some(0) => {
            cursor.go(from);
            kept.odd(key, cursor)?;
            Ok(0)
        }
        Some(count) => Ok(count),
        None => Err(Refused::Field("usage holds a count that is no whole number from 0")),
    }
}
