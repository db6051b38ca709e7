//! What the published page promises of the command line.

use crate::remote::world::{Kind, World, ids};

#[test]
fn an_unknown_session_ends_a_command_with_3() {
    World::with(Kind::Local, |world| {
        for command in ["kill", "output"] {
            world.run(&[command, "sess-20260101-000000-0000"]).assert_code(3);
        }
    });
}

#[test]
fn every_other_failure_ends_a_command_with_1() {
    World::with(Kind::Local, |world| {
        world.remote_with(&[("ANTHROPIC_API_KEY", "")], &["start", "do it"]).output().assert_code(1);
        world.run(&["exec", "auto", " "]).assert_code(1);
    });
}

#[test]
fn a_command_line_that_cannot_be_read_ends_with_2() {
    World::with(Kind::Local, |world| {
        for words in [&["kill"][..], &["exec", "destroy", "x"], &["start", "--nonsense", "x"]] {
            world.run(words).assert_code(2);
        }
    });
}

#[test]
fn the_key_of_the_variable_is_passed_on() {
    World::with(Kind::Local, |world| {
        let started = world.run(&["start", "--json", "do it"]);
        let ids = ids(&started.assert_code(0).json());
        assert_eq!(world.wait(&ids)[0]["status"], "completed", "{}", world.said(&[&ids[0]]));
    });
}

#[test]
fn states_are_lower_case_words() {
    World::with(Kind::Local, |world| {
        let started = world.run(&["start", "--json", "do it"]);
        let ids = ids(&started.assert_code(0).json());
        assert_eq!(started.json()["sessions"][0]["session"]["status"], "running");
        world.wait(&ids);
        let file =
            std::fs::read_to_string(world.sandbox.home().join(".amplihack/remote-state.json")).unwrap();
        assert!(
            file.contains("\"status\": \"completed\"") || file.contains("\"status\":\"completed\""),
            "{file}"
        );
    });
}
