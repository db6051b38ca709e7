//! Membership over made-up process tables.

use std::collections::{BTreeMap, BTreeSet};

use amplihack_sys::ProcessEntry;

use super::{MembershipScope, find_members};

const OWN: u32 = 100;
const CHILD: u32 = 200;

fn proc(pid: u32, parent: u32, group: u32) -> ProcessEntry {
    ProcessEntry {
        pid,
        ppid: parent,
        pgid: group,
        sid: group,
        terminal: 0,
        start_time: u64::from(pid),
        name: format!("p{pid}"),
        dead: false,
    }
}

fn ids(table: &[ProcessEntry], change: impl Fn(&mut MembershipScope<'_>)) -> Vec<u32> {
    ids_beside(table, &BTreeSet::from([CHILD]), change)
}

fn ids_beside(
    table: &[ProcessEntry],
    others: &BTreeSet<u32>,
    change: impl Fn(&mut MembershipScope<'_>),
) -> Vec<u32> {
    let known = BTreeMap::new();
    let mut scope = MembershipScope {
        own: OWN,
        child: CHILD,
        child_start: u64::from(CHILD),
        group: Some(CHILD),
        others,
        adopts: false,
        known: &known,
        tagged: &|_| false,
    };
    change(&mut scope);
    find_members(table, &scope).into_iter().map(|proc| proc.pid).collect()
}

#[test]
fn descendants_and_the_group_are_members_and_the_child_is_not() {
    let table = [
        proc(OWN, 1, OWN),
        proc(CHILD, OWN, CHILD),
        proc(300, CHILD, CHILD),
        proc(301, 300, 301),
        proc(302, 301, 301),
        proc(303, 1, CHILD),
        proc(304, 303, 304),
        proc(400, 1, 400),
    ];
    assert_eq!(ids(&table, |_| ()), [300, 301, 302, 303, 304]);
}

#[test]
fn a_session_id_counts_only_from_the_childs_start_on() {
    let table = [proc(OWN, 1, OWN), proc(CHILD, OWN, CHILD), proc(150, 1, 150), proc(500, 1, 500)];
    assert_eq!(ids(&table, |scope| scope.tagged = &|pid| pid == 150 || pid == 500), [500]);
}

#[test]
fn orphans_are_members_only_of_a_run_that_adopts_and_never_other_runs_children() {
    let table = [
        proc(OWN, 1, OWN),
        proc(CHILD, OWN, CHILD),
        proc(600, OWN, 600),
        proc(700, OWN, 700),
        proc(701, 700, 700),
    ];
    let others = BTreeSet::from([CHILD, 700]);
    assert_eq!(ids_beside(&table, &others, |_| ()), [0; 0]);
    assert_eq!(ids_beside(&table, &others, |scope| scope.adopts = true), [600]);
    let tagged = |scope: &mut MembershipScope<'_>| scope.tagged = &|pid| pid >= 600;
    assert_eq!(ids_beside(&table, &others, tagged), [600]);
}

#[test]
fn ended_processes_are_no_members_but_their_children_are() {
    let mut ended = proc(300, CHILD, 300);
    ended.dead = true;
    let table = [proc(OWN, 1, OWN), proc(CHILD, OWN, CHILD), ended, proc(301, 300, 300)];
    assert_eq!(ids(&table, |_| ()), [301]);
}
