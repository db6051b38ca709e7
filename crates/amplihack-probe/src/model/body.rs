//! Request bodies: plain, gzip or zstd, never larger than the limit after decoding.

use std::io::{self, Read};

/// The most that a request body may hold, on the wire and decoded.
pub(crate) const LIMIT: usize = 32 << 20;

/// The decoded body.
///
/// Errors: [`io::ErrorKind::Unsupported`] for an encoding other than gzip, zstd and identity,
/// [`io::ErrorKind::FileTooLarge`] beyond [`LIMIT`], any other kind for broken data.
pub(crate) fn decode_body(raw: Vec<u8>, encoding: Option<&str>) -> io::Result<Vec<u8>> {
    match encoding.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(raw),
        "gzip" | "x-gzip" => read_limited(flate2::read::MultiGzDecoder::new(raw.as_slice())),
        "zstd" => read_limited(zstd::stream::read::Decoder::with_buffer(raw.as_slice())?),
        other => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("unsupported content-encoding {other:?}; use gzip, zstd or none"),
        )),
    }
}

fn read_limited(decoder: impl Read) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    decoder.take(LIMIT as u64 + 1).read_to_end(&mut body)?;
    if body.len() > LIMIT {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("body of more than {LIMIT} bytes")));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn encodings_are_undone() {
        let text = b"it's $HOME".to_vec();
        assert_eq!(decode_body(text.clone(), None).unwrap(), text);
        assert_eq!(decode_body(gzip(&text), Some("GZIP")).unwrap(), text);
        assert_eq!(decode_body(zstd::encode_all(text.as_slice(), 1).unwrap(), Some("zstd")).unwrap(), text);
        assert_eq!(decode_body(text.clone(), Some("br")).unwrap_err().kind(), io::ErrorKind::Unsupported);
        decode_body(text.clone(), Some("gzip")).unwrap_err();
        decode_body(text, Some("zstd")).unwrap_err();
    }

    #[test]
    fn a_small_body_that_unpacks_to_a_huge_one_is_refused() {
        let huge = vec![0_u8; LIMIT + 1];
        let packed = zstd::encode_all(huge.as_slice(), 1).unwrap();
        assert!(packed.len() < LIMIT / 100);
        assert_eq!(decode_body(packed, Some("zstd")).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(decode_body(gzip(&huge), Some("gzip")).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(decode_body(gzip(&huge[1..]), Some("gzip")).unwrap().len(), LIMIT);
    }
}
