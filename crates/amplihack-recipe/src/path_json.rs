//! Paths in JSON, byte for byte: a text, or for one that is not UTF-8 an object with its bytes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path in its JSON form.
struct JsonPath(PathBuf);

/// Key of the bytes of a path that is not UTF-8.
const BYTES: &str = "bytes";

impl Serialize for JsonPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for JsonPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || D::Error::custom("a path is a text, or an object with its bytes");
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(Self(text.into())),
            serde_json::Value::Object(mut object) => {
                let bytes = object.remove(BYTES).ok_or_else(wrong)?;
                let bytes: Vec<u8> = serde_json::from_value(bytes).map_err(|_| wrong())?;
                Ok(Self(OsString::from_vec(bytes).into()))
            }
            _ => Err(wrong()),
        }
    }
}

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    if let Some(text) = path.to_str() {
        return serializer.serialize_str(text);
    }
    let mut object = serializer.serialize_map(Some(1))?;
    object.serialize_entry(BYTES, path.as_os_str().as_bytes())?;
    object.end()
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    JsonPath::deserialize(deserializer).map(|path| path.0)
}

/// Paths with a digest each.
pub(crate) mod digests {
    use super::{Deserialize, Deserializer, JsonPath, PathBuf, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        all: &[(PathBuf, String)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(all.iter().map(|(path, digest)| (JsonPath(path.clone()), digest)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(PathBuf, String)>, D::Error> {
        let all = Vec::<(JsonPath, String)>::deserialize(deserializer)?;
        Ok(all.into_iter().map(|(path, digest)| (path.0, digest)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        #[serde(with = "super")]
        path: PathBuf,
        #[serde(with = "digests")]
        all: Vec<(PathBuf, String)>,
    }

    #[test]
    fn every_path_survives_and_a_plain_one_is_a_text() {
        let odd = PathBuf::from(OsString::from_vec(b"/w\xff".to_vec()));
        for path in ["/a b".into(), odd] {
            let holder = Holder { path: path.clone(), all: vec![(path, "d".to_owned())] };
            let text = serde_json::to_string(&holder).unwrap();
            assert_eq!(serde_json::from_str::<Holder>(&text).unwrap(), holder, "{text}");
        }
        let plain = Holder { path: "/a".into(), all: vec![("/b".into(), "d".to_owned())] };
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#"{"path":"/a","all":[["/b","d"]]}"#);
    }
}
