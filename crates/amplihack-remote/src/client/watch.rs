//! What sessions write, as it comes, and their ends.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use crate::client::answers::Waited;
use crate::client::ground::Ground;
use crate::client::refresh::take_in;
use crate::client::{Client, unheard};
use crate::error::{ErrorContext, RemoteError};
use crate::far::Far;
use crate::options::{OutputOptions, SessionOutput};
use crate::protocol::FarState;
use crate::session::{Condition, Session};
use crate::state::{SessionRecord, State};

/// How long the far side holds a question for something new.
const HOLD: Duration = Duration::from_secs(10);
/// How long a machine may be silent before a follower gives up.
const SILENCE: Duration = Duration::from_mins(10);
/// Between two tries to reach a machine.
const AGAIN: Duration = Duration::from_secs(1);
/// Between the first two looks at sessions that are waited for, and between later ones.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(2);
/// What is read of a log's end for some lines of it.
const TAIL: u64 = 1024 * 1024;
/// The most that is read of it, however few line breaks there are.
const MOST: u64 = 16 * TAIL;

/// Takes what a session wrote.
pub type Show<'a> = &'a mut (dyn FnMut(&[u8]) -> io::Result<()> + Send);

impl Client {
    /// The last lines of what a session wrote.
    pub async fn output(&self, options: OutputOptions) -> Result<SessionOutput, RemoteError> {
        let ground = self.ground(options.state_file.as_deref())?;
        let known = ground.read()?;
        if amplihack_utils::sabotage::active("remote-output-unknown")
            && !known.sessions.contains_key(&options.session_id)
        {
            return Err(RemoteError::Execution("nothing was written".into()));
        }
        let record = known.session(&options.session_id)?.clone();
        let far = reached(&ground, &record)?;
        let (state, length) = self.observe_one(&ground, &far, &options.session_id).await?;
        if state == FarState::Absent {
            return Err(removed(&record));
        }
        let lines = if amplihack_utils::sabotage::active("remote-output-lines") {
            1000
        } else {
            usize::try_from(options.lines).unwrap_or(usize::MAX)
        };
        let mut size = TAIL;
        loop {
            let from = length.saturating_sub(size);
            let bytes = read_to(&far, &options.session_id, from, length).await?;
            match tail(&bytes, lines) {
                Some(text) => return shown(&ground, &options.session_id, text),
                None if from == 0 || size == MOST => return shown(&ground, &options.session_id, &bytes),
                None => size = size.saturating_mul(16).min(MOST),
            }
        }
    }

    /// What making a session's work tree said.
    pub async fn setup(&self, id: &str, state_file: Option<&Path>) -> Result<String, RemoteError> {
        let ground = self.ground(state_file)?;
        let record = ground.read()?.session(id)?.clone();
        let said = reached(&ground, &record)?.setup(id).await;
        let said = said.map_err(|error| if_removed(error, &record))?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// Shows what a session writes from byte `from` on, across cut connections, until its end, and answers how it ended.
    pub async fn follow(
        &self,
        id: &str,
        from: u64,
        state_file: Option<&Path>,
        show: Show<'_>,
    ) -> Result<Session, RemoteError> {
        let ground = self.ground(state_file)?;
        self.follow_until(&ground, id, from, None, show).await
    }

    /// The same, until `deadline` at most.
    pub(super) async fn follow_until(
        &self,
        ground: &Ground,
        id: &str,
        mut from: u64,
        deadline: Option<Instant>,
        show: Show<'_>,
    ) -> Result<Session, RemoteError> {
        let record = ground.read()?.session(id)?.clone();
        let far = reached(ground, &record)?;
        let mut heard = Instant::now();
        loop {
            match self.next_part(ground, &far, id, from).await {
                Ok((bytes, ended)) => {
                    heard = Instant::now();
                    from += bytes.len() as u64;
                    let bytes =
                        if amplihack_utils::sabotage::active("remote-log") { Vec::new() } else { bytes };
                    show(&bytes).map_err(|error| {
                        RemoteError::Execution(
                            format!("the session's output could not be shown: {error}").into(),
                        )
                    })?;
                    // What ended may have written more than one answer holds.
                    if ended && bytes.is_empty() {
                        return ground.read().and_then(|state| Ok(state.session(id)?.session.clone()));
                    }
                }
                Err(error @ RemoteError::SessionNotFound { .. }) => return Err(if_removed(error, &record)),
                Err(error) if !unheard(&error) || heard.elapsed() > SILENCE => {
                    let hint = format!("go on with: amplihack remote output {id} --follow --from {from}");
                    return Err(error.with("hint", hint));
                }
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                let context = ErrorContext::new(format!("{id} did not end in its time"));
                return Err(RemoteError::Execution(
                    context.with("reason_end", "deadline").with("session_id", id),
                ));
            }
        }
    }

    /// The next part of a log, waited for, and whether its session has ended.
    async fn next_part(
        &self,
        ground: &Ground,
        far: &Far,
        id: &str,
        from: u64,
    ) -> Result<(Vec<u8>, bool), RemoteError> {
        let bytes = far.read(id, from, HOLD).await?.bytes;
        if !bytes.is_empty() {
            return Ok((bytes, false));
        }
        let (state, length) = self.observe_one(ground, far, id).await?;
        let over = !matches!(state, FarState::Waiting | FarState::Running);
        Ok((bytes, over && length <= from))
    }

    /// Asks a machine about one session, and brings what is known here up to date.
    pub(super) async fn observe_one(
        &self,
        ground: &Ground,
        far: &Far,
        id: &str,
    ) -> Result<(FarState, u64), RemoteError> {
        let seen = far.observe(&[id]).await?;
        let seen = seen.into_iter().find(|seen| seen.id == id).ok_or_else(|| {
            RemoteError::Execution(format!("{} said nothing of {id}", far.machine()).into())
        })?;
        let answer = (seen.state, seen.log_bytes);
        let record = ground.read()?.session(id)?.clone();
        let news = match seen.state {
            FarState::Waiting => false,
            FarState::Running => record.session.started_at.is_none() || record.condition.is_some(),
            _ => !record.session.status.is_final() || record.end_unconfirmed,
        };
        if news {
            take_in(ground, far.machine(), seen)?;
        }
        Ok(answer)
    }

    /// Waits for all of `ids`, or for one of them, to end; all that have not ended if none is named.
    pub async fn wait(
        &self,
        ids: &[String],
        any: bool,
        timeout: Option<Duration>,
        state_file: Option<&Path>,
    ) -> Result<Waited, RemoteError> {
        let ground = self.ground(state_file)?;
        let state = ground.read()?;
        let ids: Vec<String> = if ids.is_empty() {
            let open = state.sessions.iter().filter(|(_, record)| !record.session.status.is_final());
            open.map(|(id, _)| id.clone()).collect()
        } else {
            for id in ids {
                state.session(id)?;
            }
            ids.to_vec()
        };
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut look = FIRST_LOOK;
        loop {
            let state = ground.read()?;
            let sessions = ids.iter().map(|id| Ok(state.session(id)?.session.clone()));
            let sessions: Vec<Session> = sessions.collect::<Result<_, RemoteError>>()?;
            let ended = sessions.iter().filter(|session| session.status.is_final()).count();
            if ended == sessions.len() || (any && ended > 0) {
                return Ok(Waited { sessions, timed_out: false });
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(Waited { sessions, timed_out: true });
            }
            self.refresh_ground(&ground).await?;
            let settled = |state: &State| {
                ids.iter()
                    .all(|id| state.sessions.get(id).is_none_or(|record| record.session.status.is_final()))
            };
            if !settled(&ground.read()?) {
                let left =
                    until.map_or(look, |until| until.saturating_duration_since(Instant::now()).min(look));
                tokio::time::sleep(left).await;
                look = (look * 2).min(LOOK);
            }
        }
    }
}

/// A log from `from` to `end`: one answer does not hold all of a long one.
async fn read_to(far: &Far, id: &str, from: u64, end: u64) -> Result<Vec<u8>, RemoteError> {
    let mut bytes = Vec::new();
    loop {
        let at = from.saturating_add(bytes.len() as u64);
        let more = if at < end { far.read(id, at, Duration::ZERO).await?.bytes } else { Vec::new() };
        if more.is_empty() {
            return Ok(bytes);
        }
        bytes.extend(more);
    }
}

fn shown(ground: &Ground, id: &str, bytes: &[u8]) -> Result<SessionOutput, RemoteError> {
    let session = ground.read()?.session(id)?.session.clone();
    Ok(SessionOutput { session, output: String::from_utf8_lossy(bytes).into_owned() })
}

/// The error of a session that is known here, and whose machine has it no more.
pub(super) fn removed(record: &SessionRecord) -> RemoteError {
    let Session { session_id: id, vm_name, .. } = &record.session;
    let (why, hint) = match &record.retrieved {
        Some(retrieved) if retrieved.refs.is_empty() => (", where it had changed nothing", None),
        Some(_) => {
            let place = format!("refs/remotes/remote-exec/{id}/");
            (": its work was brought home before", Some(format!("see it with: git for-each-ref {place}")))
        }
        None => (", and its work was never brought home", None),
    };
    let context = ErrorContext::new(format!("{id} is on {vm_name} no more{why}"));
    let context = context.with("session_id", id).with("host", vm_name).with("reason", "removed");
    RemoteError::Execution(match hint {
        Some(hint) => context.with("hint", hint),
        None => context,
    })
}

fn if_removed(error: RemoteError, record: &SessionRecord) -> RemoteError {
    if matches!(error, RemoteError::SessionNotFound { .. }) { removed(record) } else { error }
}

/// The far side of a session that got there.
pub(super) fn reached(ground: &Ground, record: &SessionRecord) -> Result<Far, RemoteError> {
    let session = &record.session;
    if record.condition == Some(Condition::Lost) {
        let context = ErrorContext::new(format!(
            "{} is lost: {}",
            session.session_id,
            record.error.as_deref().unwrap_or("its machine is gone")
        ));
        if !ground.read()?.vm_pool.contains_key(&session.vm_name) {
            return Err(RemoteError::Execution(context.with("session_id", &session.session_id)));
        }
    }
    if session.vm_name.is_empty() {
        let why = record.error.as_deref().unwrap_or("it waits for a machine");
        let context = ErrorContext::new(format!("{} is on no machine: {why}", session.session_id));
        return Err(RemoteError::Execution(context.with("session_id", &session.session_id)));
    }
    ground.far_of(&ground.read()?, &session.vm_name)
}

/// The last `lines` lines; `None` if the bytes have fewer.
fn tail(bytes: &[u8], lines: usize) -> Option<&[u8]> {
    let end = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let breaks = end.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let (at, _) = breaks.take(lines).nth(lines - 1)?;
    Some(&bytes[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn the_last_lines() {
        assert_eq!(tail(b"a\nb\nc\n", 2), Some(&b"b\nc\n"[..]));
        assert_eq!(tail(b"a\nb\nc", 1), Some(&b"c"[..]));
        assert_eq!(tail(b"a\nb\n", 2), None);
        assert_eq!(tail(b"", 1), None);
    }
}
