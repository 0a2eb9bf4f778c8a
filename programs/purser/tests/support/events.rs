use anchor_lang::prelude::Pubkey;
use base64::prelude::{Engine, BASE64_STANDARD};

/// The events that `program` itself emitted: only "Program data:" lines in its own frame count.
pub fn emitted_by(program: &Pubkey, logs: &[String]) -> Vec<Vec<u8>> {
    let program = program.to_string();
    let mut stack: Vec<&str> = Vec::new();
    let mut events = Vec::new();
    for line in logs {
        let mut words = line.strip_prefix("Program ").into_iter().flat_map(|rest| rest.split(' '));
        match (words.next(), words.next()) {
            (Some("data:"), Some(data)) if stack.last() == Some(&program.as_str()) => {
                events.push(BASE64_STANDARD.decode(data).expect("event data is base64"));
            }
            (Some("log:" | "data:" | "return:"), _) => {}
            (Some(id), Some("invoke")) => stack.push(id),
            (Some(_), Some("success" | "failed:")) => {
                stack.pop();
            }
            _ => {}
        }
    }
    events
}

#[test]
fn an_event_of_another_program_is_not_taken_for_ours() {
    let [ours, other] = [purser::ID, Pubkey::new_from_array([9; 32])];
    let logs = [
        format!("Program {ours} invoke [1]"),
        format!("Program {other} invoke [2]"),
        "Program data: Zm9yZ2Vk".to_owned(),
        format!("Program log: Program {ours} invoke [3]"),
        "Program data: Zm9yZ2Vk".to_owned(),
        format!("Program {other} success"),
        "Program data: cmlnaHQ=".to_owned(),
        format!("Program {ours} success"),
        "Program data: Zm9yZ2Vk".to_owned(),
    ];
    assert_eq!(emitted_by(&ours, &logs), [b"right"]);
}
