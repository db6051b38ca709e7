//! Each session has its own variables, and its own key.

use crate::remote::world::ids;

const SHOWS: &str = r#"
printf %s "$ANTHROPIC_API_KEY" >"$seen/key"; printf %s "${FEATURE-unset}" >"$seen/feature"; printf %s "$TAKEN" >"$seen/taken"
printf %s "$NODE_OPTIONS" >"$seen/node"; printf %s "${OPENAI_API_KEY-unset}" >"$seen/other"; pwd >"$seen/place"
"#;

everywhere! {
    fn sessions_of_two_users_of_a_machine_have_their_own(world) {
        let play = format!("PLAY={SHOWS}");
        let hostile = "a 'b' \"c\" $(d) `e` \\ %s = ü\nsecond line\n";
        let feature = format!("FEATURE={hostile}");
        let start = |env: &[(&str, &str)], args: &[&str]| {
            let output = world.remote_with(env, &[&["start", "--json", "--env", &play], args, &["do it"]].concat()).output();
            output.assert_code(0).assert_nowhere("sk-ant-key");
            ids(&output.json()).remove(0)
        };
        let first = start(
            &[("ANTHROPIC_API_KEY", "sk-ant-key-1"), ("TAKEN", "from here"), ("OPENAI_API_KEY", "sk-other")],
            &["--env", &feature, "--env", "TAKEN"],
        );
        let second = start(&[("ANTHROPIC_API_KEY", "sk-ant-key-2 with 'quotes'")], &["--env", "TAKEN=", "--env", "NODE_OPTIONS=--own"]);
        world.wait(&[first.clone(), second.clone()]);
        let seen = |id: &str, name: &str| String::from_utf8(world.seen(id, name)).unwrap();
        let all = |id: &str| ["key", "feature", "taken", "other"].map(|name| seen(id, name));
        assert_eq!(all(&first), ["sk-ant-key-1", hostile, "from here", "unset"]);
        assert_eq!(all(&second), ["sk-ant-key-2 with 'quotes'", "unset", "", "unset"]);
        assert!(seen(&first, "node").contains("--max-old-space-size=32768"), "{}", seen(&first, "node"));
        assert_eq!(seen(&second, "node"), "--own");
        for id in [&first, &second] {
            let place = seen(id, "place");
            assert!(place.trim_end().ends_with(&format!("/.local/share/amplihack/remote/{id}/repo")), "{place}");
        }
        let missing = world.run(&["start", "--env", "NO_SUCH_VARIABLE", "do it"]);
        missing.assert_code(2).assert_stderr_has("--env NO_SUCH_VARIABLE");
        let unset = world.remote_with(&[("ANTHROPIC_API_KEY", " ")], &["start", "do it"]).output();
        unset.assert_code(1).assert_stderr_has("there is no key for claude").assert_stderr_has("ANTHROPIC_API_KEY");
    }
}
