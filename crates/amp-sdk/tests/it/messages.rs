//! Messages of the user: as values and as maps.

use amp_sdk::{AmpPrompt, InputContent, UserInputMessage, create_user_message, plan_run};
use serde_json::{Value, json};

use crate::fake::{Fake, INIT, RESULT, block_on};

/// A fake that keeps what it reads.
fn listener() -> Fake {
    Fake::new(&format!(
        "printf '%s ' \"$@\" >\"$AMP_TEST_DIR/argv\"; cat >\"$AMP_TEST_DIR/stdin\"; {INIT}; {RESULT}"
    ))
}

fn user(content: &Value) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": content}})
}

fn image(source: &Value) -> Value {
    json!({"type": "image", "source": source})
}

/// The lines that a fake read, as JSON.
fn heard(fake: &Fake) -> Vec<Value> {
    fake.read("stdin").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_text_is_sent_byte_for_byte() {
    let text = "  --help\n\"it's\" $HOME \u{65e5}\u{1f680}\r\n\t ";
    let fake = listener();
    block_on(amp_sdk::run(text, fake.options())).unwrap();
    assert_eq!((fake.read("stdin").as_str(), fake.read("argv").as_str()), (text, "--execute --stream-json "));
    let fake = listener();
    block_on(amp_sdk::run(AmpPrompt::try_from(json!(text)).unwrap(), fake.options())).unwrap();
    assert_eq!(fake.read("stdin"), text);
}

#[test]
fn a_user_message_is_made_of_a_text() {
    let message = create_user_message("Summarize the last change\nand suggest next steps.");
    let wire = user(&json!([{"type": "text", "text": "Summarize the last change\nand suggest next steps."}]));
    assert_eq!(message.to_value(), wire);
    let named = message.with_request_id("r-1").to_value();
    assert_eq!((&named["request_id"], &named["message"]), (&json!("r-1"), &wire["message"]));
}

#[test]
fn messages_may_be_maps() {
    let png = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let mut named = user(&json!([{"type": "text", "text": "a\nb"}]));
    named["request_id"] = json!("r-1");
    named["from_tomorrow"] = json!({"k": [1, null]});
    let mut further = user(&json!([{"type": "text", "text": "c", "cache_control": {"type": "ephemeral"}}]));
    further["message"]["id"] = json!("m-1");
    let maps = vec![
        named,
        further,
        user(&json!([{"type": "text", "text": "What is this?"}, image(&png)])),
        user(&json!([{"type": "image", "source_path": "/x.png", "source": png}])),
        user(&json!([{"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": true}])),
        user(
            &json!([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}]}]),
        ),
        user(&json!([{"type": "document", "source": {"type": "text", "data": "d"}}])),
    ];
    for map in &maps {
        assert_eq!(UserInputMessage::try_from(map.clone()).unwrap().to_value(), *map);
    }
    // A whole list, a JSON list, and one message.
    for prompt in [AmpPrompt::try_from(maps.clone()), AmpPrompt::try_from(json!(maps))] {
        let fake = listener();
        block_on(amp_sdk::run(prompt.unwrap(), fake.options())).unwrap();
        assert_eq!(heard(&fake), maps);
        assert_eq!(fake.read("argv"), "--execute --stream-json --stream-json-input ");
    }
    let fake = listener();
    block_on(amp_sdk::run(AmpPrompt::try_from(maps[0].clone()).unwrap(), fake.options())).unwrap();
    assert_eq!(heard(&fake), maps[..1]);
    // A text as the content is its one part.
    let short = UserInputMessage::try_from(user(&json!("hello"))).unwrap();
    assert_eq!(short, create_user_message("hello"));
}

#[test]
fn an_image_of_bytes_is_a_part() {
    let mut message = create_user_message("What is this?");
    message.content.push(InputContent::from_image("image/png", "iVBORw0KGgo="));
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    assert_eq!(message.to_value()["message"]["content"][1], image(&source));
    let fake = listener();
    block_on(amp_sdk::run(message.clone(), fake.options())).unwrap();
    assert_eq!(heard(&fake), [message.to_value()]);
    // An image alone says something; its bytes do not show.
    let mut alone = UserInputMessage::default();
    alone.content.push(InputContent::from_image("image/png", "iVBORw0KGgo="));
    plan_run(&alone.clone().into(), &fake.options()).unwrap();
    assert!(!format!("{alone:?}").contains("iVBOR"));
}

#[test]
fn a_map_that_is_no_message_is_refused_by_its_place_and_never_quoted() {
    let refused = |value: Value| {
        let error = AmpPrompt::try_from(json!([user(&json!("ok")), value])).unwrap_err();
        assert_eq!(error.kind(), "invalid_configuration", "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let text = error.to_string();
        text.strip_prefix("use ").unwrap().split_once(": ").unwrap().0.to_owned()
    };
    let with = |content: Value| user(&content);
    for (value, place) in [
        (json!("hunter2"), "messages[1]"),
        (json!({}), "messages[1].type"),
        (json!({"type": "assistant", "message": {}}), "messages[1].type"),
        (json!({"type": "user"}), "messages[1].message"),
        (json!({"type": "user", "message": "hunter2"}), "messages[1].message"),
        (json!({"type": "user", "message": {"content": "x"}}), "messages[1].message.role"),
        (json!({"type": "user", "message": {"role": "system", "content": "x"}}), "messages[1].message.role"),
        (json!({"type": "user", "message": {"role": "user"}}), "messages[1].message.content"),
        (with(json!(7)), "messages[1].message.content"),
        (with(json!(["hunter2"])), "messages[1].message.content[0]"),
        (with(json!([{"text": "hunter2"}])), "messages[1].message.content[0].type"),
        (with(json!([{"type": "text"}])), "messages[1].message.content[0].text"),
        (with(json!([{"type": "text", "text": ["hunter2"]}])), "messages[1].message.content[0].text"),
        (
            with(json!([{"type": "tool_result", "content": "x"}])),
            "messages[1].message.content[0].tool_use_id",
        ),
        (with(json!([{"type": "image"}])), "messages[1].message.content[0].source"),
        (with(json!([{"type": "image", "source": {}}])), "messages[1].message.content[0].source.type"),
        (
            with(json!([{"type": "image", "source": {"type": "base64", "data": "hunter2"}}])),
            "messages[1].message.content[0].source",
        ),
        (json!({"type": "user", "request_id": 7, "message": {}}), "messages[1].request_id"),
    ] {
        assert_eq!(refused(value.clone()), place, "{value}");
    }
    // A part that a program made by itself is checked before a start.
    let mut message = create_user_message("x");
    message.content.push(InputContent::Other(json!(["hunter2"])));
    let fake = Fake::new("touch \"$AMP_TEST_DIR/started\"");
    let error = block_on(amp_sdk::run(message, fake.options())).unwrap_err();
    assert!(error.to_string().starts_with("use messages[0].message.content[1]: "), "{error}");
    for empty in [
        json!([]),
        json!([user(&json!([]))]),
        json!(""),
        user(&json!([{"type": "text", "text": " ", "x": 1}])),
    ] {
        let prompt = AmpPrompt::try_from(empty).unwrap();
        let error = block_on(amp_sdk::run(prompt, fake.options())).unwrap_err();
        assert_eq!(error.to_string(), "use the prompt: it is empty; give it some text");
    }
    assert!(!fake.path("started").exists());
}
