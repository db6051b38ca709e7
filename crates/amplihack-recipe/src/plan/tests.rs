//! Plans over small trees of recipes.

use amplihack_config::env::Env;

use super::*;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

fn plan(dir: &tempfile::TempDir, mode: PlanCompileMode) -> Result<Plan, CompileError> {
    let env = Env::empty().with_variable("GIT_CEILING_DIRECTORIES", std::env::temp_dir());
    let discovery = RecipeDiscovery::new(&env, dir.path(), &[]);
    compile_plan(&dir.path().join("top.yaml"), &discovery, mode, &[])
}

/// Text with the tree's own path taken out.
fn local(dir: &tempfile::TempDir, text: &str) -> String {
    let dir = dir.path().display().to_string();
    text.replace(&format!("{dir}/"), "").replace(&dir, "DIR")
}

#[test]
fn parents_come_first() {
    let dir = tree(&[
        (
            "top.yaml",
            "name: top\nextends: mid\ncontext: {a: top}\ntags: [z, a]\nsteps: [{id: c, command: c}]",
        ),
        ("mid.yaml", "name: mid\nextends: base\nrecursion: {max_depth: 3}\nsteps: [{id: m, command: m}]"),
        (
            "base.yaml",
            "name: base\ncontext: {a: base, b: base}\ntags: [a, b]\nrecursion: {max_depth: 9, max_total_steps: 7}\nhooks: {pre_step: h}\nsteps: [{id: b, command: b}]",
        ),
    ]);
    let plan = plan(&dir, PlanCompileMode::Strict).unwrap();
    let recipe = &plan.root().recipe;
    let ids: Vec<&str> = recipe.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["b", "m", "c"]);
    assert_eq!((recipe.name.as_str(), recipe.tags.join(" ")), ("top", "a b z".to_owned()));
    assert_eq!(
        (recipe.context.get("a").unwrap().text(), recipe.context.get("b").unwrap().text()),
        ("top", "base")
    );
    assert_eq!((recipe.limits.max_depth, recipe.limits.max_total_steps), (Some(3), Some(7)));
    assert!(recipe.hooks.pre_step.is_some() && recipe.extends.is_none());
    assert!(recipe.steps[0].source.path.ends_with("base.yaml"));
}

#[test]
fn a_child_needs_no_steps_of_its_own() {
    let dir = tree(&[
        ("top.yaml", "name: top\nextends: base\ncontext: {v: special}"),
        ("base.yaml", "name: base\nsteps: [{id: b, command: 'echo {{v}}'}]"),
    ]);
    let plan = plan(&dir, PlanCompileMode::Strict).unwrap();
    assert_eq!((plan.root().recipe.steps.len(), plan.warnings.len()), (1, 0));
}

#[test]
fn parents_that_cannot_be() {
    for (files, want) in [
        (vec![("top.yaml", "name: t\nextends: top\nsteps: [{id: a, command: x}]")], "circular extends"),
        (
            vec![
                ("top.yaml", "name: t\nextends: b\n"),
                ("b.yaml", "name: b\nextends: c\n"),
                ("c.yaml", "name: c\nextends: b\n"),
            ],
            "c.yaml:2:10: circular extends",
        ),
        (
            vec![("top.yaml", "name: t\nextends: none\n")],
            "top.yaml:2:10: parent recipe `none` cannot be used",
        ),
        (
            vec![("top.yaml", "name: t\nextends: b\n"), ("b.yaml", "name: b\n")],
            "b.yaml:1:1: a recipe needs at least one step",
        ),
    ] {
        let dir = tree(&files);
        for mode in [PlanCompileMode::Strict, PlanCompileMode::AsPredecessor] {
            let error = plan(&dir, mode).unwrap_err();
            assert!(matches!(error, CompileError::Extends(_)), "{error}");
            assert!(error.diagnostics()[0].to_line().contains(want), "{}", error.diagnostics()[0].to_line());
        }
    }
}

#[test]
fn a_mistake_far_below_is_known_before_the_first_step() {
    let dir = tree(&[
        ("top.yaml", "name: top\nsteps:\n  - {id: a, command: x}\n  - {id: r, recipe: mid}\n"),
        (
            "mid.yaml",
            "name: mid\nsteps: [{id: r, recipe: low}, {id: s, recipe: gone}, {id: t, recipe: broken}]\n",
        ),
        (
            "low.yaml",
            "name: low\nsteps:\n  - {id: one, command: x, condition: ok}\n  - {id: two, command: x}\n  - id: three\n    command: x\n    condition: \"ok && count = 3\"\n",
        ),
        ("broken.yaml", "name: broken\nsteps: [{id: a, type: skill}]"),
    ]);
    let error = plan(&dir, PlanCompileMode::Strict).unwrap_err();
    insta::assert_snapshot!(local(&dir, &error.to_string()), @r#"
    error: unknown step type `skill`
      --> broken.yaml:2:23
      |
    2 | steps: [{id: a, type: skill}]
      |                       ^^^^^
      = use bash, agent or recipe, in lower case

    error: condition of step `three`: unexpected character: '='
      --> low.yaml:7:29
      |
    7 |     condition: "ok && count = 3"
      |                             ^
      = equality is `==`

    error: sub-recipe `gone` not found
      --> mid.yaml:2:47
      |
    2 | steps: [{id: r, recipe: low}, {id: s, recipe: gone}, {id: t, recipe: broken}]
      |                                               ^^^^
      = searched DIR
    "#);
    let plan = plan(&dir, PlanCompileMode::AsPredecessor).unwrap();
    let targets: Vec<_> = plan.recipes[1].steps.iter().map(|step| step.target.clone().unwrap()).collect();
    assert_eq!(targets[0], Ok(2));
    assert!(
        targets[1].as_ref().unwrap_err().contains("sub-recipe 'gone' not found; searched, in this order:")
    );
    assert!(targets[2].as_ref().unwrap_err().contains("unknown step type `skill`"));
}

#[test]
fn recipes_that_run_each_other() {
    let dir = tree(&[
        ("top.yaml", "name: top\nsteps: [{id: r, recipe: other}, {id: s, recipe: top}]"),
        ("other.yaml", "name: other\nsteps: [{id: r, recipe: top}]"),
    ]);
    let plan = plan(&dir, PlanCompileMode::Strict).unwrap();
    let targets = |place: usize| -> Vec<_> {
        plan.recipes[place].steps.iter().map(|step| step.target.clone().unwrap().unwrap()).collect()
    };
    assert_eq!((plan.recipes.len(), targets(0), targets(1)), (2, vec![1, 0], vec![0]));
}

#[test]
fn what_is_odd() {
    let dir = tree(&[
        (
            "top.yaml",
            "name: top\ncontext: {task_description: x, o: {k: v}}\ncolor: red\nsteps:\n  - {id: a, agent: 'ns:gone', prompt: '{{task_descripton}} {{o.k}}'}\n  \
             - {id: b, command: 'echo {{made}} {{below}} {{never}} {{handed}}', output: made}\n  - {id: r, recipe: sub, context: {handed: 1}}\n",
        ),
        ("sub.yaml", "name: sub\nsteps: [{id: s, command: x, output: below}]"),
        (".claude/agents/there.md", "x"),
    ]);
    let warnings: Vec<String> = plan(&dir, PlanCompileMode::Strict)
        .unwrap()
        .warnings
        .iter()
        .map(|found| format!("{} ({})", found.to_line(), found.help.as_deref().unwrap_or("")))
        .collect();
    insta::assert_snapshot!(local(&dir, &warnings.join("\n")), @r#"
    top.yaml:3:1: unrecognized field `color` in a recipe (remove it, or let its name begin with `x-` if another program reads it)
    top.yaml:5:20: agent `ns:gone` not found: the step runs without a system prompt (searched .claude/agents, amplifier-bundle/agents, src/amplihack/amplifier-bundle/agents, src/amplihack/.claude/agents)
    top.yaml:5:10: step `a`: nothing sets `task_descripton`; its placeholder is empty (did you mean `task_description`?)
    top.yaml:6:10: step `b`: nothing sets `never`; its placeholder is empty ()
    "#);
}

#[test]
fn a_plan_in_words() {
    let dir = tree(&[
        (
            "top.yaml",
            "name: top\nversion: 2.10\ndescription: does it\nauthor: me\ntags: [a, b]\ncontext: {v: 1.10, s: text}\nrecursion: {max_depth: 3, max_total_steps: 9}\nsteps:\n  \
             - {id: a, command: x, output: o, timeout: 5, when_tags: [t]}\n  - {id: b, agent: 'n:x', prompt: p, condition: \"o and\\n v\", parse_json: true, fatal: false}\n  \
             - {id: r, recipe: sub, parallel_group: g}\n",
        ),
        ("sub.yaml", "name: sub\nsteps: [{id: s, command: x}]"),
    ]);
    insta::assert_snapshot!(describe_plan(&plan(&dir, PlanCompileMode::Strict).unwrap()), @r#"
    Recipe: top (v2.10)
    Description: does it
    Author: me
    Tags: a, b
    Max depth: 3
    Max total steps: 9
    Context:
      s = "text"
      v = 1.10
    Steps (3):
      1. a [bash] → o (timeout 5 s, tags t)
      2. b [agent] n:x (json, continues on error)
         if o and v
      3. r [recipe] sub (group g)

    Recipe: sub (v1.0.0)
    Steps (1):
      1. s [bash]
    "#);
}
