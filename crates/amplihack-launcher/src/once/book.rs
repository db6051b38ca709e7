//! The stopped calls of one launch and the grants of a person: a state machine without sockets or clocks.

use std::collections::VecDeque;
use std::time::Instant;

use amplihack_hooks::once::{GRANTED_FOR, OFFERED_FOR, PendingCall, StoppedCall, StoppedCallId, ToolCallKey};

/// Stopped calls that are kept; beyond them the oldest goes.
const MOST: usize = 64;

/// Calls that were stopped, and those of them that a person granted.
#[derive(Debug, Default)]
pub(crate) struct GrantBook {
    stopped: VecDeque<GrantOffer>,
    grants: Vec<CallGrant>,
}

/// A stopped call that a person may grant.
#[derive(Debug)]
struct GrantOffer {
    id: StoppedCallId,
    call: StoppedCall,
    at: Instant,
}

/// The use of a grant, and by which tool call: a host may ask more than once about one.
#[derive(Debug)]
enum GrantUse {
    Unused,
    /// By a call that its host does not name.
    Unnamed,
    By(ToolCallKey),
}

/// A person's yes to one call.
#[derive(Debug)]
struct CallGrant {
    hash: String,
    at: Instant,
    usage: GrantUse,
}

impl GrantBook {
    /// Reports whether a person granted this call; the grant is used up by asking. A call that is not granted is kept, to be granted.
    pub(crate) fn use_grant(&mut self, call: StoppedCall, now: Instant) -> bool {
        self.grants.retain(|grant| now.duration_since(grant.at) < GRANTED_FOR);
        for grant in self.grants.iter_mut().filter(|grant| grant.hash == call.hash) {
            match &grant.usage {
                GrantUse::Unused => {
                    grant.usage = call.asker.map_or(GrantUse::Unnamed, GrantUse::By);
                    return true;
                }
                GrantUse::By(asker) if call.asker.as_ref() == Some(asker) => return true,
                GrantUse::By(_) | GrantUse::Unnamed => {}
            }
        }
        self.offer_call(call, now);
        false
    }

    /// Keeps a stopped call. One that is tried again keeps its id.
    fn offer_call(&mut self, call: StoppedCall, now: Instant) {
        if let Some(known) = self.stopped.iter_mut().find(|known| known.call.hash == call.hash) {
            known.at = now;
            return;
        }
        while self.stopped.len() >= MOST {
            self.stopped.pop_front();
        }
        if let Some(id) = StoppedCallId::new(&call.hash) {
            self.stopped.push_back(GrantOffer { id, call, at: now });
        }
    }

    /// Grants the stopped call `id`: for ten minutes the same command in the same directory goes through, once.
    pub(crate) fn grant_call(&mut self, id: &StoppedCallId, now: Instant) -> Option<PendingCall> {
        self.forget_old(now);
        let at = self.stopped.iter().position(|offer| offer.id == *id)?;
        let offer = self.stopped.remove(at)?;
        self.grants.push(CallGrant { hash: offer.call.hash.clone(), at: now, usage: GrantUse::Unused });
        Some(offer.pending_call())
    }

    /// The stopped calls that can be granted, the oldest first.
    pub(crate) fn pending_calls(&mut self, now: Instant) -> Vec<PendingCall> {
        self.forget_old(now);
        self.stopped.iter().map(GrantOffer::pending_call).collect()
    }

    fn forget_old(&mut self, now: Instant) {
        self.stopped.retain(|offer| now.duration_since(offer.at) < OFFERED_FOR);
    }
}

impl GrantOffer {
    fn pending_call(&self) -> PendingCall {
        PendingCall { id: self.id.clone(), command: self.call.command.clone(), cwd: self.call.cwd.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use amplihack_hooks::once::stopped_call;

    use super::*;

    fn call(script: &str, asker: Option<&str>) -> StoppedCall {
        stopped_call(script.as_bytes(), Path::new("/w"), ToolCallKey::new(Some("s"), asker))
    }

    fn id(book: &mut GrantBook, now: Instant) -> StoppedCallId {
        book.pending_calls(now).pop().unwrap().id
    }

    #[test]
    fn a_granted_call_goes_through_once_and_only_that_call() {
        let (mut book, now) = (GrantBook::default(), Instant::now());
        assert!(!book.use_grant(call("reboot", None), now));
        let offered = id(&mut book, now);
        assert!(!book.use_grant(call("reboot", None), now), "an offer is no grant");
        assert_eq!(id(&mut book, now), offered, "a call that is tried again keeps its id");
        assert_eq!(book.grant_call(&offered, now).unwrap().command, "reboot");
        assert_eq!(book.grant_call(&offered, now), None, "granted once");
        assert!(!book.use_grant(call("reboot ", None), now), "another command");
        let elsewhere = stopped_call(b"reboot", Path::new("/v"), None);
        assert!(!book.use_grant(elsewhere, now), "another directory");
        assert!(book.use_grant(call("reboot", None), now));
        assert!(!book.use_grant(call("reboot", None), now), "used up");
    }

    #[test]
    fn a_host_may_ask_twice_about_one_tool_call() {
        let (mut book, now) = (GrantBook::default(), Instant::now());
        book.use_grant(call("reboot", Some("c1")), now);
        let offered = id(&mut book, now);
        book.grant_call(&offered, now).unwrap();
        assert!(
            book.use_grant(call("reboot", Some("c1")), now)
                && book.use_grant(call("reboot", Some("c1")), now)
        );
        assert!(!book.use_grant(call("reboot", Some("c2")), now), "another call");
        assert!(!book.use_grant(call("reboot", None), now), "a call without a name");
        assert!(!book.use_grant(call("reboot", Some("c1")), now + GRANTED_FOR), "too late");
    }

    #[test]
    fn time_ends_offers_and_grants_and_there_are_few() {
        let (mut book, now) = (GrantBook::default(), Instant::now());
        book.use_grant(call("reboot", None), now);
        let offered = id(&mut book, now);
        assert_eq!(book.grant_call(&offered, now + OFFERED_FOR), None);
        book.use_grant(call("reboot", None), now);
        let offered = id(&mut book, now);
        book.grant_call(&offered, now).unwrap();
        assert!(!book.use_grant(call("reboot", None), now + GRANTED_FOR));
        for number in 0..MOST * 2 {
            book.use_grant(call(&format!("kill {number}"), None), now + Duration::from_secs(1));
        }
        assert_eq!(book.pending_calls(now + Duration::from_secs(2)).len(), MOST);
    }

    #[test]
    fn what_a_person_is_shown_has_no_credentials() {
        let (mut book, now) = (GrantBook::default(), Instant::now());
        let token = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        book.use_grant(
            call(&format!("curl -H 'Authorization: Bearer {token}' https://x.example"), None),
            now,
        );
        assert!(!book.pending_calls(now)[0].command.contains(&token));
    }
}
