//! Recipes as people write them, and the mistakes in them.

use std::path::Path;

use super::*;
use crate::model::{ContextCheck, StepKind, SubRecipeArgument};

fn read(text: &str) -> Result<Recipe, Vec<RecipeDiagnostic>> {
    parse_recipe(Path::new("recipe.yaml"), text.as_bytes())
}

fn good(text: &str) -> Recipe {
    read(text).unwrap_or_else(|errors| panic!("{}", errors[0]))
}

/// The first error, on one line.
fn bad(text: &str) -> String {
    read(text).expect_err(text)[0].to_line()
}

fn steps(text: &str) -> Recipe {
    good(&format!("name: x\nsteps:\n{text}"))
}

#[test]
fn types_are_inferred() {
    let recipe = steps(
        "  - {id: a, command: x}\n  - {id: b, prompt: p}\n  - {id: c, agent: 'a:b', command: x}\n  - {id: d, recipe: r, agent: x}\n  \
         - {id: e, prompt: p, command: x}\n  - {id: f, type: bash, agent: a, prompt: p, command: x}\n",
    );
    let kinds: Vec<&str> = recipe.steps.iter().map(|step| step.kind.name()).collect();
    assert_eq!(kinds, ["bash", "agent", "agent", "recipe", "bash", "bash"]);
}

#[test]
fn scalars_without_quotes_are_text_where_text_is_wanted() {
    let recipe = good(
        "name: 123\nversion: 1.0\nsteps:\n  - {id: 5, command: 010, output: 7, condition: true}\n  - {id: true, command: x}",
    );
    assert_eq!((recipe.name.as_str(), recipe.version.as_str()), ("123", "1.0"));
    assert_eq!((recipe.steps[0].id.as_str(), recipe.steps[1].id.as_str()), ("5", "true"));
    assert_eq!(recipe.steps[0].output.as_deref(), Some("7"));
    assert_eq!(recipe.steps[0].condition.as_ref().unwrap().as_ref().unwrap().source(), "true");
}

#[test]
fn values_keep_their_spelling() {
    let recipe = good(
        "name: x\ncontext:\n  v: 1.10\n  hex: 0x1F\n  sha: 12345e67\n  zip: 0012\n  yes: yes\n  t: True\n  q: '42'\n  none: ~\n  date: 2024-01-02\n  \
         o: {b: 1.10, a: [x, null, 'true', 0x10]}\n  text: |\n    a\n    b\nsteps: [{id: a, command: x}]",
    );
    let shown = |name: &str| {
        let value = recipe.context.get(name).unwrap();
        format!("{} {}", value.text(), value.json_text())
    };
    for (name, want) in [
        ("v", "1.10 1.10"),
        ("hex", "0x1F 31"),
        ("sha", "12345e67 12345e67"),
        ("zip", "0012 \"0012\""),
        ("yes", "yes \"yes\""),
        ("t", "true true"),
        ("q", "42 \"42\""),
        ("none", " null"),
        ("date", "2024-01-02 \"2024-01-02\""),
        ("o", "{\"b\":1.10,\"a\":[\"x\",null,\"true\",16]} {\"b\":1.10,\"a\":[\"x\",null,\"true\",16]}"),
        ("text", "a\nb\n \"a\\nb\\n\""),
    ] {
        assert_eq!(shown(name), want);
    }
}

#[test]
fn nothing_is_absent() {
    let recipe = good(
        "name: x\ncontext:\nhooks:\ntags:\nrecursion: ~\nextends:\nsteps:\n  - {id: a, command: x, when_tags: , timeout: , output: , condition: }",
    );
    let step = &recipe.steps[0];
    assert!(recipe.context.is_empty() && recipe.tags.is_empty() && recipe.extends.is_none());
    assert!(step.output.is_none() && step.condition.is_none() && step.timeout.is_none());
}

#[test]
fn everything_that_a_step_can_say() {
    let recipe = good(
        "name: x\nrecursion: {max_depth: 3, max_total_steps: 9}\ncontext_validation: {a: nonempty, b: git_repo, c: path, d: ''}\n\
         hooks: {pre_step: 'echo {{a}}'}\ntags: [one, 2]\nsteps:\n\
         \x20 - id: a\n    agent: ns:name\n    prompt: hi {{who}}\n    model: m\n    mode: auto\n    auto_stage: false\n    timeout: 5\n    parse_json: true\n    \
         parse_json_required: true\n    working_dir: '{{dir}}'\n    parallel_group: g\n    when_tags: [t]\n    nonfatal: true\n    \
         outputs: {type: object}\n  - id: b\n    recipe: r\n    recovery_on_failure: true\n    fatal: false\n    \
         sub_context: {x: '{{a}}', n: 5, l: ['{{b}}', {k: '{{c}}'}]}\n",
    );
    assert_eq!((recipe.limits.max_depth, recipe.limits.max_total_steps), (Some(3), Some(9)));
    assert_eq!(recipe.context_validation["b"], ContextCheck::GitRepo);
    assert_eq!(recipe.tags, ["one", "2"]);
    assert!(recipe.warnings.is_empty(), "{:?}", recipe.warnings);
    let [a, b] = recipe.steps.as_slice() else { panic!() };
    assert!(!a.fatal && !b.fatal && a.parse_json && a.parse_json_required);
    assert_eq!(a.timeout, Some(std::time::Duration::from_secs(5)));
    assert_eq!(a.outputs_schema, Some(serde_json::json!({"type": "object"})));
    assert_eq!(a.template_names(), ["who", "dir"]);
    assert_eq!(b.template_names(), ["a", "b", "c"]);
    let StepKind::Recipe { context, recovery_on_failure: true, .. } = &b.kind else { panic!() };
    assert!(matches!(&context[1].1, SubRecipeArgument::Value(five) if five.text() == "5"));
}

#[test]
fn fatal_needs_both_words() {
    let recipe = steps(
        "  - {id: a, command: x, fatal: false, continue_on_error: false}\n  - {id: b, command: x, fatal: true, continue_on_error: true}\n  - {id: c, command: x}",
    );
    assert_eq!(recipe.steps.iter().map(|step| step.fatal).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn anchors_aliases_and_merge_keys() {
    let recipe = good(
        "name: an\nx-base: &b {command: echo shared, timeout: 5}\nx-other: &o {command: other, output: o}\nsteps:\n  - {id: a, command: &c echo anchored}\n  \
         - {id: b, command: *c}\n  - id: c\n    <<: *b\n  - id: d\n    <<: [*b, *o]\n    timeout: 7\n  - {id: e, command: x, '<<': *b}\n",
    );
    let script = |at: usize| match &recipe.steps[at].kind {
        StepKind::Bash { script } => script.source(),
        _ => "",
    };
    assert_eq!(
        (script(1), script(2), script(3), script(4)),
        ("echo anchored", "echo shared", "echo shared", "x")
    );
    assert_eq!(recipe.steps[3].timeout.map(|time| time.as_secs()), Some(7));
    assert_eq!(recipe.steps[3].output.as_deref(), Some("o"));
    assert_eq!(recipe.warnings.len(), 1, "a quoted `<<` is an unknown field");
}

#[test]
fn byte_order_marks_and_carriage_returns() {
    let recipe =
        good("\u{feff}name: x\r\nsteps:\r\n  - id: a\r\n    command: |\r\n      one\r\n      two\r\n");
    let StepKind::Bash { script } = &recipe.steps[0].kind else { panic!() };
    assert_eq!(script.source(), "one\ntwo\n");
}

#[test]
fn mistakes() {
    for (text, want) in [
        ("steps: [{id: a, command: x}]", "a recipe needs a `name`"),
        ("name: ''\nsteps: [{id: a, command: x}]", "`name` is empty"),
        ("name: x", "at least one step"),
        ("name: x\nsteps:", "at least one step"),
        ("name: x\nsteps: []", "at least one step"),
        ("name: x\nsteps: {a: b}", "recipe.yaml:2:8: `steps` has to be a list"),
        (
            "name: x\nsteps:\n  - {id: a, command: x}\n  - {id: a, command: y}",
            "recipe.yaml:4:10: duplicate step id `a`",
        ),
        ("name: x\nsteps:\n  - {command: x}", "recipe.yaml:3:5: a step needs an `id`"),
        ("name: x\nsteps:\n  - {id: '', command: x}", "`id` of a step is empty"),
        ("name: x\nsteps:\n  - {id: y}", "recipe.yaml:3:10: step `y` has no `command`"),
        ("name: x\nsteps:\n  - {id: a, type: skill}", "recipe.yaml:3:19: unknown step type `skill`"),
        ("name: x\nsteps:\n  - {id: a, type: Bash, command: x}", "unknown step type `Bash`"),
        (
            "name: x\nsteps:\n  - {id: a, command: 1, command: 2}",
            "recipe.yaml:3:25: duplicate field `command`",
        ),
        (
            "name: x\nsteps:\n  - {id: a, command: x, nonfatal: true, continue_on_error: true}",
            "duplicate field",
        ),
        ("name: x\ntags: one\nsteps: [{id: a, command: x}]", "`tags` has to be a list"),
        ("name: x\nsteps: [{id: a, command: x, timeout: 1.5}]", "`timeout` must be an integer"),
        ("name: x\nsteps: [{id: a, command: x, timeout: -1}]", "`timeout` must be an integer"),
        ("name: x\nsteps: [{id: a, command: [x]}]", "`command` has to be text"),
        ("name: x\nsteps: [{id: a, command: x, fatal: 'no'}]", "`fatal` must be true or false"),
        ("name: x\nsteps: [a]", "a step must be a map"),
        ("name: x\ncontext: 5\nsteps: [{id: a, command: x}]", "`context` has to be a map"),
        ("- a", "a recipe must be a map"),
        ("", "the recipe is empty"),
        ("name: x\nsteps:\n  - id: a\n   command: bad", "cannot parse YAML"),
        ("name: x\n---\nname: y", "more than one document"),
        ("name: x\na: &a [*a]", "an alias inside its own anchor"),
        ("? [a]\n: b", "a key has to be text"),
    ] {
        assert!(bad(text).contains(want), "{text}\n{}", bad(text));
    }
    assert!(bad(&format!("name: x\n# {}", "x".repeat(LARGEST))).contains("too large"));
    assert!(parse_recipe(Path::new("r"), b"name: \xff").unwrap_err()[0].to_line().contains("not UTF-8"));
}

#[test]
fn all_mistakes_at_once() {
    let errors = read("name: ''\nsteps:\n  - {command: x}\n  - {id: b, timeout: x}\n").unwrap_err();
    let lines: Vec<usize> = errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, [1, 3, 4, 4]);
}

#[test]
fn a_condition_that_cannot_be_read_is_kept_with_its_place() {
    let recipe = steps("  - id: a\n    command: x\n    condition: >\n      ok and\n      n = 'x'\n");
    let error = recipe.steps[0].condition.as_ref().unwrap().as_ref().unwrap_err();
    insta::assert_snapshot!(error, @r"
    error: unexpected character: '='
      --> recipe.yaml:7:9
      |
    7 |       n = 'x'
      |         ^
      = equality is `==`
    ");
}

#[test]
fn unknown_fields() {
    let recipe = good(
        "name: x\ncolour: red\nx-mine: 1\ninputs: [a]\nsteps:\n  - {id: a, command: x, timout: 5, retries: 3, depends_on: [b], description: d}\n",
    );
    let warnings: Vec<String> = recipe
        .warnings
        .iter()
        .map(|found| format!("{} ({})", found.to_line(), found.help.as_deref().unwrap_or("")))
        .collect();
    insta::assert_snapshot!(warnings.join("\n"), @r"
    recipe.yaml:6:25: unrecognized field `timout` in a step (did you mean `timeout`?)
    recipe.yaml:6:36: unrecognized field `retries` in a step (remove it, or let its name begin with `x-` if another program reads it)
    recipe.yaml:6:48: unrecognized field `depends_on` in a step (steps run in order, so remove it)
    recipe.yaml:2:1: unrecognized field `colour` in a recipe (remove it, or let its name begin with `x-` if another program reads it)
    ");
}

#[test]
fn documents_that_grow_or_nest_without_end() {
    let mut laughs = String::from("name: x\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..12 {
        let refs = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs = format!("{laughs}a{level}: &a{level} [{refs}]\n");
    }
    assert!(bad(&laughs).contains("aliases make the recipe too large"));
    assert!(bad(&format!("name: {}", "[".repeat(200))).contains("nested more than 100 deep"));
    let deep = (0..200).map(|level| " ".repeat(level * 2) + "- a:\n").collect::<String>();
    assert!(bad(&deep).contains("nested more than 100 deep"));
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
        let _ = parse_recipe(Path::new("r.yaml"), &bytes);
    }

    /// Each diagnostic names a place that is in the text.
    #[test]
    fn any_text_like_a_recipe_is_read(parts in proptest::collection::vec(proptest::sample::select(vec![
        "name: x\n", "steps:\n", "  - id: a\n", "    command: x\n", "    condition: ", "a ==\n", "[", "]", "{", "}", ",", ": ", "- ", "\n", "  ", "&a ", "*a", "<<: ", "'", "\"",
        "|\n", ">\n", "é", "\u{feff}", "? ", "!!str ", "#", "null", "1.5", "---\n", "%", "\t", "\r\n", "timeout: ", "tags: ", "context: ",
    ]), 0..40)) {
        let text = parts.concat();
        if let Err(errors) = read(&text) {
            for error in errors {
                proptest::prop_assert!(error.line <= text.lines().count() + 1, "{}", error);
            }
        }
    }
}
