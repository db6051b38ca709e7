//! Recipes that others wrote: read, judged, their scripts prepared, in time linear in their length.

use std::path::Path;
use std::time::Duration;

use amplihack_fuzz::{Target, run, seeds};
use amplihack_recipe::answer::parse_json;
use amplihack_recipe::condition::StepCondition;
use amplihack_recipe::context::RecipeContext;
use amplihack_recipe::document;
use amplihack_recipe::model::StepKind;
use amplihack_recipe::script::RecipeScript;
use amplihack_recipe::value::RecipeValue;

const DICTIONARY: &[&str] = &[
    "name: x\n",
    "steps:\n",
    "  - id: a\n",
    "    command: |\n",
    "    condition: ",
    "context: {",
    "<<: *a",
    "&a ",
    "*a",
    "[",
    "]",
    "{",
    "}",
    "? ",
    "- ",
    ": ",
    "---\n",
    "!!str ",
    "\"",
    "'",
    "`",
    "$(",
    "$((",
    "))",
    ")",
    "${x:-",
    "<<E\n",
    "<<'E'\n",
    "<<-E\n",
    "E\n",
    "\\",
    "#",
    "[[ ",
    " ]]",
    "case x in ",
    "esac",
    "{{x}}",
    "{{ a.b[0] }}",
    " and ",
    " not in ",
    "==",
    ".replace('a', 'aa')",
    "len(",
    "é",
    "\u{feff}",
    "\r\n",
    "```json\n",
    "1e999",
];

fn context() -> RecipeContext {
    [("x", "1"), ("a", "{\"b\": [1, {\"c\": \"$(x)\"}]}"), ("s", "text `y` 'q'")]
        .into_iter()
        .map(|(name, text)| (name.to_owned(), RecipeValue::from_output(text)))
        .collect()
}

fn main() -> std::process::ExitCode {
    let mut begin = seeds::files("amplihack-recipe/tests/seeds");
    begin.extend(seeds::files("amplihack-recipe/src/condition"));
    let target = Target {
        name: "recipe",
        seeds: begin,
        dictionary: DICTIONARY,
        longest: 64 << 10,
        most: |len| {
            Duration::from_millis(200) + Duration::from_micros(20) * u32::try_from(len).unwrap_or(u32::MAX)
        },
    };
    let context = context();
    run(target, |bytes| {
        if let Ok(recipe) = document::parse_recipe(Path::new("r.yaml"), bytes) {
            for step in &recipe.steps {
                if let Some(Ok(condition)) = &step.condition {
                    let _ = condition.is_met(&context);
                }
                if let StepKind::Bash { script } = &step.kind {
                    let _ = script.prepare_with(&context);
                }
            }
        }
        let text = String::from_utf8_lossy(bytes);
        if let Ok(condition) = StepCondition::parse(&text) {
            let _ = condition.is_met(&context);
        }
        let prepared = RecipeScript::parse(&text).prepare_with(&context);
        assert!(prepared.env.iter().all(|(name, _)| !name.contains('=') && name.is_ascii()));
        let _ = parse_json(&text);
    })
}
