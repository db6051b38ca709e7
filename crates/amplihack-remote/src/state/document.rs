//! The state as text: what is read is whole and agrees with itself, or it is refused.

use serde_json::Value;

use super::{State, VERSION, migrate};

/// Why a text is no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is no text.
    #[error("it is empty: what was in it is lost")]
    Empty,
    /// It is not JSON, or not of this form.
    #[error("{0}")]
    Damaged(String),
    /// A later version of this program wrote it.
    #[error("it has version {0}, and this program reads up to version {VERSION}")]
    Newer(u64),
}

/// A state, and whether it came from the predecessor's form, which has no version.
pub fn decode(bytes: &[u8]) -> Result<(State, bool), Unreadable> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Unreadable::Empty);
    }
    let damaged = |error: serde_json::Error| Unreadable::Damaged(error.to_string());
    // The version first: a later form need not have the fields of this one.
    let foreign = match version(bytes).map_err(damaged)? {
        Some(newer) if newer > VERSION => return Err(Unreadable::Newer(newer)),
        Some(VERSION) => false,
        _ => true,
    };
    let state: State = if foreign {
        let document: Value = serde_json::from_slice(bytes).map_err(damaged)?;
        serde_json::from_value(migrate::to_ours(document).map_err(Unreadable::Damaged)?).map_err(damaged)?
    } else {
        serde_json::from_slice(bytes).map_err(damaged)?
    };
    agrees(&state).map_err(Unreadable::Damaged)?;
    Ok((if foreign { migrate::settled(state) } else { state }, foreign))
}

fn version(bytes: &[u8]) -> Result<Option<u64>, serde_json::Error> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: Option<u64>,
    }
    Ok(serde_json::from_slice::<Versioned>(bytes)?.version)
}

/// What no writer of ours leaves behind, and no reader could act on.
fn agrees(state: &State) -> Result<(), String> {
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
pub fn encode(state: &State) -> Result<Vec<u8>, Unreadable> {
    let mut bytes =
        serde_json::to_vec_pretty(state).map_err(|error| Unreadable::Damaged(error.to_string()))?;
    bytes.push(b'\n');
    if amplihack_utils::sabotage::active("remote-state-words") {
        return Ok(String::from_utf8_lossy(&bytes).replace("\"completed\"", "\"COMPLETED\"").into_bytes());
    }
    Ok(bytes)
}
