//! The state as text: what is read is whole and agrees with itself, or it is refused.

use serde_json::Value;

use super::{RemoteState, VERSION, migrate};

/// The reason that a text is no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateFileError {
    /// There is no text.
    #[error("it is empty: what was in it is lost")]
    Empty,
    /// The text is not JSON, or not of this form.
    #[error("{0}")]
    Damaged(String),
    /// A later version of this program wrote it.
    #[error("it has version {0}, and this program reads up to version {VERSION}")]
    Newer(u64),
}

/// A state, and whether it came from the predecessor's form, which has no version.
///
/// # Errors
/// [`StateFileError::Empty`] where there is no text, [`StateFileError::Newer`] where a later version wrote it, [`StateFileError::Damaged`]
/// where it is not JSON of this form or has an entry under another name than its own.
pub fn decode_state(bytes: &[u8]) -> Result<(RemoteState, bool), StateFileError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(StateFileError::Empty);
    }
    let damaged = |error: serde_json::Error| StateFileError::Damaged(error.to_string());
    // The version first: a later form need not have the fields of this one.
    let foreign = match read_version(bytes).map_err(damaged)? {
        Some(newer) if newer > VERSION => return Err(StateFileError::Newer(newer)),
        Some(VERSION) => false,
        _ => true,
    };
    let state: RemoteState = if foreign {
        let document: Value = serde_json::from_slice(bytes).map_err(damaged)?;
        serde_json::from_value(migrate::migrate_document(document).map_err(StateFileError::Damaged)?)
            .map_err(damaged)?
    } else {
        serde_json::from_slice(bytes).map_err(damaged)?
    };
    check_keys(&state).map_err(StateFileError::Damaged)?;
    Ok((if foreign { migrate::settle_slots(state) } else { state }, foreign))
}

fn read_version(bytes: &[u8]) -> Result<Option<u64>, serde_json::Error> {
    #[derive(serde::Deserialize)]
    #[serde(expecting = "an object")]
    struct VersionedDocument {
        version: Option<u64>,
    }
    Ok(serde_json::from_slice::<VersionedDocument>(bytes)?.version)
}

/// Refuses entries under another name than their own: no writer of ours leaves such, and no reader could act on them.
fn check_keys(state: &RemoteState) -> Result<(), String> {
    for (id, record) in &state.sessions {
        if *id != record.session.session_id {
            return Err(format!("session '{}' stands under '{id}'", record.session.session_id));
        }
    }
    for (name, machine) in &state.vm_pool {
        if *name != machine.vm.name {
            return Err(format!("machine '{}' stands under '{name}'", machine.vm.name));
        }
    }
    Ok(())
}

/// The text of a state, for people too.
///
/// # Errors
/// [`StateFileError::Damaged`] where the state cannot be written as JSON, which no known state brings about.
pub fn encode_state(state: &RemoteState) -> Result<Vec<u8>, StateFileError> {
    let mut bytes =
        serde_json::to_vec_pretty(state).map_err(|error| StateFileError::Damaged(error.to_string()))?;
    bytes.push(b'\n');
    if amplihack_sys::sabotage::is_active("remote-state-words") {
        return Ok(String::from_utf8_lossy(&bytes).replace("\"completed\"", "\"COMPLETED\"").into_bytes());
    }
    Ok(bytes)
}
