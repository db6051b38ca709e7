//! Prompts are data: whatever is in them arrives in the agent to the byte, and nothing of it is executed.

use crate::remote::world::{World, contains, files_named, ids};

/// Texts that shells, templates, option parsers and terminals would obey. `name` is a file that they would make.
fn corpus(name: &str) -> [String; 3] {
    let touch = format!("touch {name} $HOME/{name} /tmp/{name}");
    [
        format!(
            "first $({touch}) `{touch}` \"$({touch})\" '$({touch})' ; {touch} & {touch} | {touch}\n\
             '; {touch}; '\n\"; {touch}; \"\n' \" ''' \"\"\" \\ \\\\ \\n \\' \\\" %s %n %% %2$s $HOME ${{PATH}} $((1+1)) ~ * ?? [a-z] {{b,c}}\n\
             {{{{task_description}}}} {{{{ environment }}}} ${{{{ x }}}} <% x %> #{{x}}\nEOF\nEND\n>>>\n--\n---x\n\r\n\tü 漢字 🦀 \u{202e}x\u{7}\u{1b}[31m\n\n \n\n"
        ),
        format!("--permissions=full --help $({touch})"),
        format!("-\n{touch}\n"),
    ]
}

/// Claims that a session's agent got `prompt`.
fn arrived(world: &World, id: &str, prompt: &str) {
    // Both are written before the agent goes on.
    let all = [world.seen(id, "argv.1"), world.seen(id, "stdin.1")].concat();
    world.wait(&[id.to_owned()]);
    let all = [all, world.seen(id, "stdin.1")].concat();
    assert!(contains(&all, prompt.as_bytes()), "{prompt:?} is not in {:?}", String::from_utf8_lossy(&all));
}

/// Claims that nothing was executed anywhere.
fn executed_nothing(world: &World, name: &str) {
    let mut places = world.places();
    places.push("/tmp".into());
    let made: Vec<_> = places.iter().flat_map(|place| files_named(place, name)).collect();
    assert!(made.is_empty(), "{made:?}");
}

everywhere! {
    fn hostile_prompts_arrive_and_execute_nothing(world) {
        let name = world.sandbox.marker("executed");
        let prompts = corpus(&name);
        let texts: Vec<&str> = prompts.iter().map(String::as_str).collect();
        let all = world.start("", &texts);
        for (id, prompt) in all.iter().zip(&prompts) {
            arrived(world, id, prompt);
            assert_eq!(world.session(id)["prompt"], *prompt);
            assert_eq!(std::fs::read(world.far(id).join("prompt")).unwrap(), prompt.as_bytes());
        }
        let shown = world.run(&["list"]);
        shown.assert_code(0);
        assert!(!shown.stdout_text().contains(['\u{7}', '\u{1b}', '\r']), "{shown}");

        // In a recipe it is a value of its context.
        let started = world.run(&["start", "--json", "--command", "analyze", "--", texts[0]]);
        started.assert_code(0);
        let id = ids(&started.json()).remove(0);
        arrived(world, &id, prompts[0].trim_end());
        assert_eq!(world.session(&id)["prompt"], *prompts[0]);

        // One that no command line holds comes by stdin or a file.
        let long = format!("{}$(touch {name})\n'\"\n", "0123456789 \"'`$(x)\\\n".repeat(11_000));
        assert!(long.len() > 200_000);
        let output = world.remote(&["exec", "auto", "--prompt-file", "-"]).stdin(long.clone()).output();
        output.assert_code(0);
        let list = world.json(&["list"]);
        let last = list.as_array().unwrap().last().unwrap();
        assert!(last["prompt"] == long.as_str(), "the state has another prompt");
        executed_nothing(world, &name);
    }
}
