//! How long a memo is, in characters, and whether it is plain ASCII.
//!
//! On chain every instruction is paid for, and a look at each byte would cost more than all other rules together. So
//! the bytes are looked at in words of eight.

/// Bytes of a group: four words, of which each byte's two topmost bits make one word.
const GROUP: usize = 32;
/// Bytes between two sums: three groups, since each byte position counts in two bits.
const STEP: usize = 3 * GROUP;
/// The bits that say what a byte is: `10` continues a character, anything else begins one.
const KIND: u64 = 0xc0c0_c0c0_c0c0_c0c0;
const HIGH: u64 = 0x8080_8080_8080_8080;
const EVEN: u64 = 0x5555_5555_5555_5555;

/// Whether there is no byte above 127 in `text`.
#[inline]
pub fn is_ascii(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some((group, others)) = rest.split_first_chunk::<GROUP>() {
        let (words, _) = group.as_chunks::<8>();
        if words.iter().fold(0, |bits, word| bits | u64::from_le_bytes(*word)) & HIGH != 0 {
            return false;
        }
        rest = others;
    }
    while let Some((word, others)) = rest.split_first_chunk::<8>() {
        if u64::from_le_bytes(*word) & HIGH != 0 {
            return false;
        }
        rest = others;
    }
    rest.is_empty() || last_word(text, rest.len()) & HIGH == 0
}

/// Characters in `text`, which is UTF-8: the bytes that begin one.
///
/// Of bytes that are no UTF-8 the answer is still a number, and never more than their length.
#[inline]
pub fn count_chars(text: &[u8]) -> usize {
    let mut continuing = 0;
    let mut rest = text;
    while let Some((step, others)) = rest.split_first_chunk::<STEP>() {
        let (groups, _) = step.as_chunks::<GROUP>();
        // Three bits at most come together in two: no carry.
        let pairs = groups.iter().fold(0u64, |sum, group| sum.wrapping_add(continuing_in(group)));
        continuing = sum_of_pairs(pairs).wrapping_add(continuing);
        rest = others;
    }
    while let Some((word, others)) = rest.split_first_chunk::<8>() {
        continuing = sum_of_pairs(ends_of(u64::from_le_bytes(*word) & KIND)).wrapping_add(continuing);
        rest = others;
    }
    if !rest.is_empty() {
        continuing = sum_of_pairs(ends_of(last_word(text, rest.len()) & KIND)).wrapping_add(continuing);
    }
    text.len().wrapping_sub(continuing)
}

/// The last `count` bytes of `text`, 1 to 7, as one word with zeros around.
#[inline(always)]
fn last_word(text: &[u8], count: usize) -> u64 {
    match text.last_chunk::<8>() {
        // Read once more with the bytes before them, which are then shifted out.
        Some(word) => u64::from_le_bytes(*word).wrapping_shr((count as u32).wrapping_mul(8).wrapping_neg()),
        None => text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// One in each pair of bits that stands for a byte which continues a character.
#[inline(always)]
fn continuing_in(group: &[u8; GROUP]) -> u64 {
    let (words, _) = group.as_chunks::<8>();
    let kinds = words.iter().fold(0, |kinds, word| kinds >> 2 | u64::from_le_bytes(*word) & KIND);
    ends_of(kinds)
}

/// One in the lower bit of each pair that is `10`.
#[inline(always)]
fn ends_of(kinds: u64) -> u64 {
    kinds >> 1 & !kinds & EVEN
}

/// The sum of 32 numbers of two bits.
#[inline(always)]
fn sum_of_pairs(pairs: u64) -> usize {
    // No sum here can overflow; checks for it would cost more than the additions.
    let halves = |sum: u64, bits: u32, mask: u64| (sum & mask).wrapping_add(sum >> bits & mask);
    let bytes = halves(halves(pairs, 2, 0x3333_3333_3333_3333), 4, 0x0f0f_0f0f_0f0f_0f0f);
    // 256 is 1 modulo 255, and the sum is 96 at most.
    (bytes % 255) as usize
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::String;

    /// One of each length, at its lowest and its highest, and the neighbours of what is no character.
    const CHARACTERS: [char; 10] = [
        '\0',
        '\u{7f}',
        '\u{80}',
        '\u{7ff}',
        '\u{800}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        '\u{10ffff}',
    ];

    #[test]
    fn every_character_is_one() {
        for character in '\0'..=char::MAX {
            let mut bytes = [0; 4];
            assert_eq!(count_chars(character.encode_utf8(&mut bytes).as_bytes()), 1, "{character:?}");
        }
    }

    #[test]
    fn texts_of_one_character_are_counted_at_every_length_and_place() {
        for character in CHARACTERS {
            for shift in 0..9 {
                let mut text = "x".repeat(shift);
                for count in 0..=260 {
                    assert_eq!(count_chars(text.as_bytes()), shift + count, "{character:?}, {shift} before");
                    text.push(character);
                }
            }
        }
    }

    #[test]
    fn mixed_texts_are_counted_as_std_does() {
        // xorshift64: the same texts each time.
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            let length = next() as usize % 260;
            let kinds = 1 + next() as usize % CHARACTERS.len();
            let text: String = (0..length).map(|_| CHARACTERS[next() as usize % kinds]).collect();
            assert_eq!(count_chars(text.as_bytes()), text.chars().count(), "{text:?}");
        }
    }

    #[test]
    fn one_high_byte_is_found_at_every_length_and_place() {
        for length in 0..=130 {
            let mut bytes = std::vec![0x7f; length];
            assert!(is_ascii(&bytes), "{length}");
            for place in 0..length {
                bytes[place] = 0x80;
                assert!(!is_ascii(&bytes), "{place} of {length}");
                bytes[place] = 0x7f;
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_have_no_more_characters_than_bytes() {
        for byte in 0..=u8::MAX {
            for length in 0..=300 {
                let bytes = std::vec![byte; length];
                let expected = if byte & 0xc0 == 0x80 { 0 } else { length };
                assert_eq!(count_chars(&bytes), expected, "{byte:#x}");
            }
        }
    }
}
