//! Where references stand, and what is delivered. What bash makes of it is in the integration tests.

use super::*;
use crate::value::RecipeValue;

fn context(entries: &[(&str, &str)]) -> RecipeContext {
    entries.iter().map(|(name, text)| ((*name).to_owned(), RecipeValue::from_output(*text))).collect()
}

fn text(source: &str) -> String {
    RecipeScript::parse(source).prepare_with(&RecipeContext::new()).text
}

#[test]
fn references_as_the_quotes_want_them() {
    for (source, want) in [
        ("echo {{x}}y", "echo \"${RECIPE_VAR_x}\"y"),
        ("echo \"a {{ x }}\"", "echo \"a ${RECIPE_VAR_x}\""),
        ("echo 'a {{x.y-z}}'", "echo 'a '\"${RECIPE_VAR_x__y_z}\"''"),
        ("echo $'a {{l[1]}}'", "echo $'a '\"${RECIPE_VAR_l__1}\"$''"),
        ("cat <<E\n{{x}}\nE\n", "cat <<E\n${RECIPE_VAR_x}\nE\n"),
        (
            "cat <<-'E' -n\n\ta $b `c` \\d {{x}}\n\tE\nls",
            "cat <<-RECIPE_DOCUMENT_0 -n\n\ta \\$b \\`c\\` \\\\d ${RECIPE_VAR_x}\n\tRECIPE_DOCUMENT_0\nls",
        ),
        ("cat <<'E'\n$a\nE\necho {{x}}", "cat <<'E'\n$a\nE\necho \"${RECIPE_VAR_x}\""),
        ("echo $(({{n}} + 1))", "echo $((${RECIPE_NUMBER_n?the value is not a number} + 1))"),
        ("[[ \"{{n}}\" -gt 1 ]]", "[[ \"${RECIPE_NUMBER_n?the value is not a number}\" -gt 1 ]]"),
        ("ls # {{x}}\n{{x}}", "ls # {{x}}\n\"${RECIPE_VAR_x}\""),
        ("cat <<{{x}}\na\n{{x}}\n", "cat <<{{x}}\na\n{{x}}\n"),
        (
            "echo \\{{x}} \"\\{{x}} ${{x}}\" ${{x}}",
            "echo \"${RECIPE_VAR_x}\" \"\\\\${RECIPE_VAR_x} \\$${RECIPE_VAR_x}\" \"\\$${RECIPE_VAR_x}\"",
        ),
        ("echo `ls ${{x}} '{{x}}'`", "echo `ls \"\\\\$${RECIPE_VAR_x}\" ''\"${RECIPE_VAR_x}\"''`"),
        ("echo {{#if x}} {{{x}}} {{}}", "echo {{#if x}} {\"${RECIPE_VAR_x}\"} {{}}"),
    ] {
        assert_eq!(text(source), want, "{source}");
    }
}

#[test]
fn only_what_is_asked_for_is_delivered() {
    let context = context(&[
        ("task_description", "do it"),
        ("repo_path", "."),
        ("flag", "true"),
        ("nothing", "null"),
        ("my-key", "z"),
        ("other", "o"),
        ("obj", "{\"a\": 1, \"in-ner\": {\"b\": 2}}"),
        ("bash_env", "/evil"),
        ("git_dir", "/x"),
        ("path", "/nope"),
        ("nul", "a\0b"),
    ]);
    let script = RecipeScript::parse(
        "echo $TASK_DESCRIPTION [$NOTHING] [$OBJ] $RECIPE_VAR_obj__a $RECIPE_VAR_obj__in_ner__b $RECIPE_VAR_my_key {{path}} {{obj.in-ner}} \
         ${GIT_DIR:-unset} $BASH_ENV $PATH {{gone}} {{gone}} {{nul}}",
    );
    let prepared = script.prepare_with(&context);
    let env: Vec<(&str, &str)> =
        prepared.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        env,
        [
            ("NOTHING", ""),
            ("RECIPE_VAR_my_key", "z"),
            ("RECIPE_VAR_nul", "ab"),
            ("RECIPE_VAR_obj__a", "1"),
            ("RECIPE_VAR_obj__in_ner", "{\"b\":2}"),
            ("RECIPE_VAR_obj__in_ner__b", "2"),
            ("RECIPE_VAR_path", "/nope"),
            ("TASK_DESCRIPTION", "do it"),
        ]
    );
    assert_eq!(prepared.missing, ["gone"]);
    assert_eq!(prepared.large, []);
}

#[test]
fn large_values_go_by_a_file() {
    let big = "it's ".repeat(40_000);
    let context = context(&[("big", &big), ("small", "s"), ("unused", &big)]);
    let prepared = RecipeScript::parse("{{small}} {{big}}").prepare_with(&context);
    assert_eq!(prepared.env, [("RECIPE_VAR_small".to_owned(), "s".to_owned())]);
    assert_eq!(
        prepared.text,
        "unset -v RECIPE_VAR_big;{ IFS= read -r -d '' RECIPE_VAR_big; } <\"${RECIPE_VALUES_FILE}\" || exit 1;\
         unset -v RECIPE_VALUES_FILE;\"${RECIPE_VAR_small}\" \"${RECIPE_VAR_big}\""
    );
    let mut file = Vec::new();
    prepared.write_large(&mut file).unwrap();
    assert_eq!(file, [big.as_bytes(), b"\0"].concat());

    let many: Vec<(String, String)> = (0..100).map(|n| (format!("v{n}"), "x".repeat(50_000))).collect();
    let context =
        many.iter().map(|(name, value)| (name.clone(), RecipeValue::from_string(value.as_str()))).collect();
    let source = many.iter().map(|(name, _)| ["{{", name, "}} "].concat()).collect::<String>();
    let prepared = RecipeScript::parse(&source).prepare_with(&context);
    let total: usize = prepared.env.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(total < 300_000 && prepared.large.len() * 50_000 > 4_000_000);
}

#[test]
fn what_is_no_number_is_not_calculated_with() {
    let prepared =
        |value: &str| RecipeScript::parse("echo $(({{n}}))").prepare_with(&context(&[("n", value)])).env;
    assert_eq!(prepared("7"), [("RECIPE_NUMBER_n".to_owned(), "7".to_owned())]);
    assert_eq!(prepared("a[$(touch x)]"), []);
    assert_eq!(
        RecipeScript::parse("echo $(({{n}}))").prepare_with(&RecipeContext::new()).env.len(),
        1,
        "nothing is 0"
    );
}

proptest::proptest! {
    /// Text outside of placeholders stays, in its order.
    #[test]
    fn text_outside_of_placeholders_stays(parts in proptest::collection::vec(proptest::sample::select(vec![
        "{{x}}", " ", "\n", "$(", ")", "\"", "'", "`", "<<E", "\nE\n", "$", "${y:-", "}", "a", "#", "$((", "))", "é", "[[", "]]", "case", "in", "esac", ";;",
    ]), 0..30)) {
        let source = parts.concat();
        let rendered = text(&source);
        // A here-document with a quoted delimiter gets another one, and escapes in its text.
        proptest::prop_assume!(!rendered.contains("RECIPE_DOCUMENT"));
        let mut rest = rendered.as_str();
        for literal in source.split("{{x}}") {
            // A `$` or a backquote's backslash beside a placeholder is a part of its reference.
            let literal = literal.trim_end_matches(['$', '\\']);
            let found = rest.find(literal);
            proptest::prop_assert!(found.is_some(), "{:?} → {:?}", source, rendered);
            rest = &rest[found.unwrap_or(0) + literal.len()..];
        }
    }

    #[test]
    fn any_script_is_read(source in "\\PC{0,200}", value in "\\PC{0,50}") {
        let script = RecipeScript::parse(&source.replace('@', "{{x}}"));
        let _ = script.prepare_with(&context(&[("x", &value)]));
    }
}
