//! Output of sessions, as it comes, and their ends.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use crate::client::answers::WaitReport;
use crate::client::context::RemoteContext;
use crate::client::refresh::take_in;
use crate::client::{Client, may_answer_later};
use crate::error::{ErrorContext, RemoteError};
use crate::far::FarSide;
use crate::options::{OutputOptions, SessionOutput};
use crate::protocol::FarState;
use crate::session::{Session, SessionCondition};
use crate::state::{RemoteState, SessionRecord};

/// Time that the far side holds a request for new output.
const HOLD: Duration = Duration::from_secs(10);
/// Time that a machine may be silent before a follower gives up.
const SILENCE: Duration = Duration::from_mins(10);
/// Between two tries to reach a machine.
const AGAIN: Duration = Duration::from_secs(1);
/// Between the first two looks at sessions that are waited for, and between later ones.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(2);
/// Number of bytes read first from a log's end to find its last lines.
const TAIL: u64 = 1024 * 1024;
/// The most that is read of it, however few line breaks there are.
const MOST: u64 = 16 * TAIL;

/// Takes what a session wrote.
pub type RemoteOutputSink<'a> = &'a mut (dyn FnMut(&[u8]) -> io::Result<()> + Send);

impl Client {
    /// The last lines of what a session wrote.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Execution` where it is on no machine, its machine has it no more, or the command
    /// fails there; `Transfer` where the machine cannot be asked; `Validation` where the environment or the state file cannot be used.
    pub async fn capture_output(&self, options: OutputOptions) -> Result<SessionOutput, RemoteError> {
        let ground = self.open_context(options.state_file.as_deref())?;
        let known = ground.read_state()?;
        if amplihack_sys::sabotage::is_active("remote-output-unknown")
            && !known.sessions.contains_key(&options.session_id)
        {
            return Err(RemoteError::Execution("nothing was written".into()));
        }
        let record = known.session(&options.session_id)?.clone();
        let far = find_far_side(&ground, &record)?;
        let (state, length) = self.observe_one(&ground, &far, &options.session_id).await?;
        if state == FarState::Absent {
            return Err(removed_error(&record));
        }
        let lines = if amplihack_sys::sabotage::is_active("remote-output-lines") {
            1000
        } else {
            usize::try_from(options.lines).unwrap_or(usize::MAX)
        };
        let mut size = TAIL;
        loop {
            let from = length.saturating_sub(size);
            let bytes = read_to(&far, &options.session_id, from, length).await?;
            match last_lines(&bytes, lines) {
                Some(text) => return session_output(&ground, &options.session_id, text),
                None if from == 0 || size == MOST => {
                    return session_output(&ground, &options.session_id, &bytes);
                }
                None => size = size.saturating_mul(16).min(MOST),
            }
        }
    }

    /// The output of making a session's work tree.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Execution` where it is on no machine, its machine has it no more, or the command
    /// fails there; `Transfer` where the machine cannot be asked; `Validation` where the environment or the state file cannot be used.
    pub async fn read_setup_log(&self, id: &str, state_file: Option<&Path>) -> Result<String, RemoteError> {
        let ground = self.open_context(state_file)?;
        let record = ground.read_state()?.session(id)?.clone();
        let said = find_far_side(&ground, &record)?.read_setup_log(id).await;
        let said = said.map_err(|error| if_removed(error, &record))?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// Shows what a session writes from byte `from` on, across cut connections, until its end, and answers how it ended.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Execution` where it is on no machine, its machine has it no more, the command
    /// fails there, or `show` fails; `Transfer` where the machine refuses to be asked or is silent for ten minutes; `Validation` where the
    /// environment or the state file cannot be used.
    pub async fn follow_session(
        &self,
        id: &str,
        from: u64,
        state_file: Option<&Path>,
        show: RemoteOutputSink<'_>,
    ) -> Result<Session, RemoteError> {
        let ground = self.open_context(state_file)?;
        self.follow_until(&ground, id, from, None, show).await
    }

    /// Follows a session like [`follow_session`](Self::follow_session), until `deadline` at most.
    pub(super) async fn follow_until(
        &self,
        ground: &RemoteContext,
        id: &str,
        mut from: u64,
        deadline: Option<Instant>,
        show: RemoteOutputSink<'_>,
    ) -> Result<Session, RemoteError> {
        let record = ground.read_state()?.session(id)?.clone();
        let far = find_far_side(ground, &record)?;
        let mut heard = Instant::now();
        loop {
            match self.next_part(ground, &far, id, from).await {
                Ok((bytes, ended)) => {
                    heard = Instant::now();
                    from += bytes.len() as u64;
                    let bytes =
                        if amplihack_sys::sabotage::is_active("remote-log") { Vec::new() } else { bytes };
                    show(&bytes).map_err(|error| {
                        RemoteError::Execution(
                            format!("the session's output could not be shown: {error}").into(),
                        )
                    })?;
                    // What ended may have written more than one answer holds.
                    if ended && bytes.is_empty() {
                        return ground.read_state().and_then(|state| Ok(state.session(id)?.session.clone()));
                    }
                }
                Err(error @ RemoteError::SessionNotFound { .. }) => return Err(if_removed(error, &record)),
                Err(error) if !may_answer_later(&error) || heard.elapsed() > SILENCE => {
                    let hint = format!("continue with: amplihack remote output {id} --follow --from {from}");
                    return Err(error.with_fact("hint", hint));
                }
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                let context = ErrorContext::new(format!("{id} did not end in its time"));
                return Err(RemoteError::Execution(
                    context.with_fact("reason_end", "deadline").with_fact("session_id", id),
                ));
            }
        }
    }

    /// The next part of a log, waited for, and whether its session has ended.
    async fn next_part(
        &self,
        ground: &RemoteContext,
        far: &FarSide,
        id: &str,
        from: u64,
    ) -> Result<(Vec<u8>, bool), RemoteError> {
        let bytes = far.read_log(id, from, HOLD).await?.bytes;
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
        ground: &RemoteContext,
        far: &FarSide,
        id: &str,
    ) -> Result<(FarState, u64), RemoteError> {
        let seen = far.observe_sessions(&[id]).await?;
        let seen = seen.into_iter().find(|seen| seen.id == id).ok_or_else(|| {
            RemoteError::Execution(format!("{} said nothing of {id}", far.machine()).into())
        })?;
        let answer = (seen.state, seen.log_bytes);
        let record = ground.read_state()?.session(id)?.clone();
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
    ///
    /// # Errors
    /// `SessionNotFound` where no session has one of `ids`; else those of [`refresh_sessions`](Self::refresh_sessions). The end of
    /// `timeout` is no error.
    pub async fn wait_for_sessions(
        &self,
        ids: &[String],
        any: bool,
        timeout: Option<Duration>,
        state_file: Option<&Path>,
    ) -> Result<WaitReport, RemoteError> {
        let ground = self.open_context(state_file)?;
        let state = ground.read_state()?;
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
            let state = ground.read_state()?;
            let sessions = ids.iter().map(|id| Ok(state.session(id)?.session.clone()));
            let sessions: Vec<Session> = sessions.collect::<Result<_, RemoteError>>()?;
            let ended = sessions.iter().filter(|session| session.status.is_final()).count();
            if ended == sessions.len() || (any && ended > 0) {
                return Ok(WaitReport { sessions, timed_out: false });
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(WaitReport { sessions, timed_out: true });
            }
            self.refresh_ground(&ground).await?;
            let settled = |state: &RemoteState| {
                ids.iter()
                    .all(|id| state.sessions.get(id).is_none_or(|record| record.session.status.is_final()))
            };
            // After a refresh that showed the end nobody sleeps; a session that is gone counts too, and is an error at the next look.
            if !settled(&ground.read_state()?) {
                let left =
                    until.map_or(look, |until| until.saturating_duration_since(Instant::now()).min(look));
                tokio::time::sleep(left).await;
                look = (look * 2).min(LOOK);
            }
        }
    }
}

/// A log from `from` to `end`: one answer does not hold all of a long one.
async fn read_to(far: &FarSide, id: &str, from: u64, end: u64) -> Result<Vec<u8>, RemoteError> {
    let mut bytes = Vec::new();
    loop {
        let at = from.saturating_add(bytes.len() as u64);
        let more = if at < end { far.read_log(id, at, Duration::ZERO).await?.bytes } else { Vec::new() };
        if more.is_empty() {
            return Ok(bytes);
        }
        bytes.extend(more);
    }
}

fn session_output(ground: &RemoteContext, id: &str, bytes: &[u8]) -> Result<SessionOutput, RemoteError> {
    let session = ground.read_state()?.session(id)?.session.clone();
    Ok(SessionOutput { session, output: String::from_utf8_lossy(bytes).into_owned() })
}

/// The error of a session that is known here, and whose machine has it no more.
pub(super) fn removed_error(record: &SessionRecord) -> RemoteError {
    let Session { session_id: id, vm_name, .. } = &record.session;
    let (why, hint) = match &record.retrieved {
        Some(retrieved) if retrieved.refs.is_empty() => (", where it had changed nothing", None),
        Some(_) => {
            let place = format!("refs/remotes/remote-exec/{id}/");
            (": its work was brought home before", Some(format!("see it with: git for-each-ref {place}")))
        }
        None => (", and its work was never brought home", None),
    };
    let context = ErrorContext::new(format!("{id} is no longer on {vm_name}{why}"));
    let context =
        context.with_fact("session_id", id).with_fact("host", vm_name).with_fact("reason", "removed");
    RemoteError::Execution(match hint {
        Some(hint) => context.with_fact("hint", hint),
        None => context,
    })
}

fn if_removed(error: RemoteError, record: &SessionRecord) -> RemoteError {
    if matches!(error, RemoteError::SessionNotFound { .. }) { removed_error(record) } else { error }
}

/// The far side of a session that got there.
pub(super) fn find_far_side(ground: &RemoteContext, record: &SessionRecord) -> Result<FarSide, RemoteError> {
    let session = &record.session;
    if record.condition == Some(SessionCondition::Lost) {
        let context = ErrorContext::new(format!(
            "{} is lost: {}",
            session.session_id,
            record.error.as_deref().unwrap_or("its machine is gone")
        ));
        if !ground.read_state()?.vm_pool.contains_key(&session.vm_name) {
            return Err(RemoteError::Execution(context.with_fact("session_id", &session.session_id)));
        }
    }
    if session.vm_name.is_empty() {
        let why = record.error.as_deref().unwrap_or("it waits for a machine");
        let context = ErrorContext::new(format!("{} is on no machine: {why}", session.session_id));
        return Err(RemoteError::Execution(context.with_fact("session_id", &session.session_id)));
    }
    ground.far_side_named(&ground.read_state()?, &session.vm_name)
}

/// The last `lines` lines; `None` if the bytes have fewer.
fn last_lines(bytes: &[u8], lines: usize) -> Option<&[u8]> {
    let end = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let breaks = end.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let (at, _) = breaks.take(lines).nth(lines.checked_sub(1)?)?;
    Some(&bytes[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn the_last_lines() {
        assert_eq!(last_lines(b"a\nb\nc\n", 2), Some(&b"b\nc\n"[..]));
        assert_eq!(last_lines(b"a\nb\nc", 1), Some(&b"c"[..]));
        assert_eq!(last_lines(b"a\nb\n", 2), None);
        assert_eq!(last_lines(b"", 1), None);
    }
}
