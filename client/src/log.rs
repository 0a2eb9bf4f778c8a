//! Events of our program, read from a transaction's log by walking the stack of invocations.
//!
//! Any program can write a "Program data:" line with our event's bytes. Such a line is ours only while our program is
//! running. Only the runtime writes the "invoke", "success" and "failed" lines that show this; what a
//! program logs itself always starts with "Program log:" or "Program data:".

use anchor_lang::prelude::Pubkey;
use anchor_lang::{AnchorDeserialize, Discriminator};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Length of the prefix that identifies an event type.
const DISCRIMINATOR_BYTES: usize = 8;

/// Our events in one log.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EventLog {
    /// Discriminator and fields of each event, in order.
    pub payloads: Vec<Vec<u8>>,
    /// The log was cut or does not nest as the runtime writes it: events may be missing, none is forged.
    pub incomplete: bool,
}

impl EventLog {
    /// Walks `lines` and keeps what `program` itself emitted.
    pub fn read(program: &Pubkey, lines: &[String]) -> Self {
        let mut log = Self::default();
        let mut stack: Vec<Pubkey> = Vec::new();
        for line in lines {
            if line == "Log truncated" {
                log.incomplete = true;
                return log;
            }
            let Some(rest) = line.strip_prefix("Program ") else { continue };
            if let Some(data) = rest.strip_prefix("data: ") {
                if stack.last() == Some(program) {
                    log.payloads.extend(STANDARD.decode(data).ok());
                }
                continue;
            }
            match Frame::of(rest) {
                None => {}
                Some(Frame::Invoke { program, depth }) if depth == stack.len() + 1 => stack.push(program),
                Some(Frame::Return { program }) if stack.last() == Some(&program) => {
                    stack.pop();
                }
                Some(Frame::Invoke { .. } | Frame::Return { .. }) => {
                    log.incomplete = true;
                    return log;
                }
            }
        }
        log.incomplete = !stack.is_empty();
        log
    }
}

/// A line of the runtime about the running program.
enum Frame {
    Invoke { program: Pubkey, depth: usize },
    Return { program: Pubkey },
}

impl Frame {
    /// From the words after "Program ": `<id> invoke [<depth>]`, `<id> success`, `<id> failed: <why>`.
    fn of(rest: &str) -> Option<Self> {
        let (program, what) = rest.split_once(' ')?;
        let program = program.parse().ok()?;
        if let Some(depth) = what.strip_prefix("invoke [") {
            let depth = depth.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Invoke { program, depth });
        }
        (what == "success" || what.starts_with("failed: ")).then_some(Self::Return { program })
    }
}

/// The event of type `E` in `payload`, exactly: no byte missing, none left over.
pub fn decode_event<E: Discriminator + AnchorDeserialize>(payload: &[u8]) -> Option<E> {
    let (discriminator, mut fields) = payload.split_at_checked(DISCRIMINATOR_BYTES)?;
    if discriminator != E::DISCRIMINATOR {
        return None;
    }
    let event = E::deserialize(&mut fields).ok()?;
    fields.is_empty().then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchor_lang::Event;
    use purser::events::TransferExecuted;
    use purser_policy::{id_with_tag, tag_of};

    const OURS: Pubkey = purser::ID;
    const OTHER: Pubkey = Pubkey::from_str_const("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");

    fn event(tag: u64) -> TransferExecuted {
        TransferExecuted {
            agent: Pubkey::new_from_array([2; 32]),
            number: 1,
            transfer_id: id_with_tag([3; 8], tag),
            amount: 1_500_000,
            recipient: Pubkey::new_from_array([4; 32]),
            recipient_owner: Pubkey::new_from_array([5; 32]),
            policy_version: 1,
            spent_in_window: 1_500_000,
            memo: "rent 🏠".into(),
        }
    }

    fn data(tag: u64) -> String {
        format!("Program data: {}", STANDARD.encode(event(tag).data()))
    }

    fn transfers(log: &EventLog) -> Vec<TransferExecuted> {
        log.payloads.iter().filter_map(|payload| decode_event(payload)).collect()
    }

    fn tags(lines: &[String]) -> Vec<u64> {
        transfers(&EventLog::read(&OURS, lines)).iter().map(|event| tag_of(&event.transfer_id)).collect()
    }

    fn invoke(program: Pubkey, depth: usize) -> String {
        format!("Program {program} invoke [{depth}]")
    }

    fn success(program: Pubkey) -> String {
        format!("Program {program} success")
    }

    #[test]
    fn an_event_in_our_frame_is_ours_also_after_a_call_returned() {
        let lines = [
            invoke(OURS, 1),
            "Program log: Instruction: Transfer".into(),
            invoke(OTHER, 2),
            format!("Program {OTHER} consumed 76 of 10000 compute units"),
            success(OTHER),
            data(7),
            format!("Program {OURS} consumed 3000 of 12000 compute units"),
            success(OURS),
        ];
        let log = EventLog::read(&OURS, &lines);
        assert!(!log.incomplete);
        let found = transfers(&log);
        assert_eq!(
            (found.len(), tag_of(&found[0].transfer_id), found[0].memo.as_slice()),
            (1, 7, "rent 🏠".as_bytes())
        );
    }

    #[test]
    fn an_event_in_another_programs_frame_is_not_ours() {
        let alone = [invoke(OTHER, 1), data(1), success(OTHER)];
        assert!(tags(&alone).is_empty());
        let called_by_us =
            [invoke(OURS, 1), invoke(OTHER, 2), data(2), success(OTHER), data(3), success(OURS)];
        assert_eq!(tags(&called_by_us), [3]);
        let calls_us =
            [invoke(OTHER, 1), data(4), invoke(OURS, 2), data(5), success(OURS), data(6), success(OTHER)];
        assert_eq!(tags(&calls_us), [5]);
        let outside = [data(8), invoke(OURS, 1), success(OURS), data(9)];
        assert!(tags(&outside).is_empty());
    }

    #[test]
    fn log_lines_cannot_pretend_to_be_the_runtime() {
        let lines = [
            invoke(OTHER, 1),
            format!("Program log: Program {OURS} invoke [2]"),
            format!("Program log: \nProgram {OURS} invoke [2]"),
            data(1),
            success(OTHER),
        ];
        assert!(tags(&lines).is_empty());
    }

    #[test]
    fn a_failed_inner_call_leaves_its_frame() {
        let lines = [
            invoke(OTHER, 1),
            invoke(OURS, 2),
            format!("Program {OURS} failed: custom program error: 0x1771"),
            data(1),
            format!("Program {OTHER} failed: custom program error: 0x1771"),
        ];
        assert!(tags(&lines).is_empty());
    }

    #[test]
    fn a_cut_log_keeps_what_came_before_and_says_that_it_is_incomplete() {
        let lines = [invoke(OURS, 1), data(1), "Log truncated".into(), data(2), success(OURS)];
        let log = EventLog::read(&OURS, &lines);
        assert!(log.incomplete);
        assert_eq!(transfers(&log).iter().map(|event| tag_of(&event.transfer_id)).collect::<Vec<_>>(), [1]);
        assert!(EventLog::read(&OURS, &[invoke(OURS, 1)]).incomplete);
    }

    #[test]
    fn a_log_that_does_not_nest_ends_there() {
        let deeper = [invoke(OTHER, 1), invoke(OURS, 3), data(1)];
        let strange = [invoke(OTHER, 1), success(OURS), invoke(OURS, 1), data(1)];
        for lines in [&deeper[..], &strange[..]] {
            let log = EventLog::read(&OURS, lines);
            assert!(log.incomplete && log.payloads.is_empty(), "{lines:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_event_are_passed_over() {
        let mut short = event(1).data();
        short.pop();
        let mut long = event(2).data();
        long.push(0);
        let lines = [
            invoke(OURS, 1),
            "Program data: ".into(),
            "Program data: !!".into(),
            format!("Program data: {}", STANDARD.encode([1, 2, 3])),
            format!("Program data: {}", STANDARD.encode(short)),
            format!("Program data: {}", STANDARD.encode(long)),
            data(3),
            success(OURS),
        ];
        assert_eq!(tags(&lines), [3]);
    }
}
