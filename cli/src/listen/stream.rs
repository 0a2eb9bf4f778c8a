//! Server-sent events out of the bytes of a stream, whoever sends them: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.

use std::mem::take;

/// Longest line, and most data of one event, in bytes. The service's events are shorter.
const BYTES_MAX: usize = 1024 * 1024;

/// A block of the stream, which an empty line ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub id: Option<String>,
    pub data: Option<String>,
    /// Part of it is left out.
    pub is_too_long: bool,
}

/// Reads blocks as their bytes come.
#[derive(Debug, Default)]
pub struct Blocks {
    line: Vec<u8>,
    /// A line feed after a carriage return ends no line of its own.
    after_return: bool,
    block: Block,
}

impl Blocks {
    /// The blocks that these bytes complete.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Block> {
        let mut complete = Vec::new();
        for byte in bytes {
            let after_return = take(&mut self.after_return);
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    complete.extend(self.end_line());
                }
                byte if self.line.len() < BYTES_MAX => self.line.push(*byte),
                _ => self.block.is_too_long = true,
            }
        }
        complete
    }

    fn end_line(&mut self) -> Option<Block> {
        let line = take(&mut self.line);
        if line.is_empty() {
            let block = take(&mut self.block);
            return (block != Block::default()).then_some(block);
        }
        let line = String::from_utf8_lossy(&line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" if !value.contains('\0') => self.block.id = Some(value.to_owned()),
            "data" => match &mut self.block.data {
                Some(data) if data.len().saturating_add(value.len()) > BYTES_MAX => {
                    self.block.is_too_long = true
                }
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.block.data = Some(value.to_owned()),
            },
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> Vec<Block> {
        let mut blocks = Blocks::default();
        pieces.iter().flat_map(|piece| blocks.read(piece.as_bytes())).collect()
    }

    fn block(id: &str, data: &str) -> Block {
        Block { id: Some(id.to_owned()), data: Some(data.to_owned()), is_too_long: false }
    }

    #[test]
    fn lines_end_as_the_server_ends_them_and_wherever_pieces_are_cut() {
        let expected = [block("1", "{\"a\": 1}"), block("2", "b")];
        for end in ["\n", "\r\n", "\r"] {
            let text = format!(
                ": hello{end}retry: 2000{end}id: 1{end}event: x{end}data: {{\"a\": 1}}{end}{end}{end}id:2{end}data:b{end}{end}: bye{end}{end}"
            );
            assert_eq!(read(&[&text]), expected, "{end:?}");
            let characters: Vec<String> = text.chars().map(String::from).collect();
            let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
            assert_eq!(read(&characters), expected, "{end:?} in pieces");
        }
    }

    #[test]
    fn data_in_several_lines_is_one_text() {
        assert_eq!(read(&["data: a\ndata\ndata:  b\nid: 1\n\n"]), [block("1", "a\n\n b")]);
        assert_eq!(read(&["data: never ended"]), []);
    }

    #[test]
    fn what_has_no_end_is_cut_and_the_next_event_is_read() {
        let long = "x".repeat(BYTES_MAX / 4);
        let mut blocks = Blocks::default();
        for _ in 0..40 {
            assert_eq!(blocks.read(long.as_bytes()), []);
            assert!(blocks.line.len() <= BYTES_MAX);
        }
        let [cut, next] = &blocks.read(b"\n\nid: 2\ndata: b\n\n")[..] else { panic!("two blocks") };
        assert!(cut.is_too_long);
        assert_eq!(next, &block("2", "b"));
        let many = format!("data: {long}\n").repeat(40) + "\n";
        let [cut] = &read(&[&many])[..] else { panic!("one block") };
        assert!(cut.is_too_long && cut.data.as_ref().is_some_and(|data| data.len() <= BYTES_MAX + 40));
    }
}
