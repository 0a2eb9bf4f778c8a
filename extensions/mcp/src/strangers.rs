//! Words of strangers on their way to a model. Whoever sends a deposit writes its memo.

use serde_json::Value;

/// Most characters of a stranger's memo that are shown.
const CHARS_MAX: usize = 200;

/// Cuts the memos of strangers in an answer, and escapes in them what hides text or changes its direction.
pub(crate) fn disarm(answer: &mut Value) {
    match answer {
        Value::Array(values) => values.iter_mut().for_each(disarm),
        Value::Object(fields) => {
            if fields.get("memo_from").is_some_and(|from| from == "sender")
                && let Some(Value::String(memo)) = fields.get_mut("memo")
            {
                *memo = shown(memo);
            }
            fields.values_mut().for_each(disarm);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn shown(memo: &str) -> String {
    let mut shown = String::new();
    let mut characters = memo.chars();
    for character in characters.by_ref().take(CHARS_MAX) {
        if character.is_control() || is_invisible(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    if characters.next().is_some() {
        shown.push('\u{2026}');
    }
    shown
}

/// Marks of direction, separators of lines, characters of no width, and tags, which models read and people do not see.
const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0e}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn memo_of(from: &str, memo: &str) -> String {
        let mut answer =
            json!({ "data": [{ "id": "ent_1", "memo": memo, "memo_from": from }], "cursor": null });
        disarm(&mut answer);
        answer["data"][0]["memo"].as_str().expect("text").to_owned()
    }

    #[test]
    fn memo_of_a_stranger_is_cut_and_its_hidden_characters_show() {
        assert_eq!(memo_of("sender", "rent for July \u{1f3e0}"), "rent for July \u{1f3e0}");
        assert_eq!(memo_of("sender", "a\nb\u{1b}[2J"), r"a\u{a}b\u{1b}[2J");
        assert_eq!(memo_of("sender", "\u{202e}evil\u{2066}\u{200f}"), r"\u{202e}evil\u{2066}\u{200f}");
        assert_eq!(memo_of("sender", "hi\u{e0041}\u{e007f}\u{200b}"), r"hi\u{e0041}\u{e007f}\u{200b}");
        let long = memo_of("sender", &"x".repeat(800));
        assert_eq!(long, "x".repeat(200) + "\u{2026}");
        assert_eq!(memo_of("sender", &"x".repeat(200)), "x".repeat(200));
        assert!(memo_of("sender", &"\u{202e}".repeat(800)).len() < 200 * 10);
    }

    #[test]
    fn memo_of_the_account_is_as_it_wrote_it() {
        let own = "two\nlines".repeat(30);
        assert_eq!(memo_of("account", &own), own);
        for mut answer in
            [json!({ "memo": own }), json!({ "memo": null, "memo_from": null }), json!(["memo"])]
        {
            let before = answer.clone();
            disarm(&mut answer);
            assert_eq!(answer, before);
        }
    }
}
