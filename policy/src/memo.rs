//! Whether a memo has too many characters.
//!
//! On chain every instruction is paid for, and a look at each byte would cost more than all other rules together. So
//! the bytes are looked at in words of eight, and no further than it takes.

/// Bytes of a group: four words, of which each byte's two topmost bits make one word.
const GROUP: usize = 32;
/// Three groups: each byte position counts in two bits.
const HALF: usize = 3 * GROUP;
/// Bytes between two looks at what was counted.
const STEP: usize = 2 * HALF;
/// The bits that say what a byte is: `10` continues a character, anything else begins one.
const KIND: u64 = 0xc0c0_c0c0_c0c0_c0c0;
const EVEN: u64 = 0x5555_5555_5555_5555;

/// How many characters `text` has, if it has more than `most`.
///
/// Counts the bytes that begin a character of UTF-8. Of bytes that are no UTF-8 that is still a number, and never more
/// than their length.
/// A function of its own: among the rules on chain it would not have the registers that it needs.
#[inline(never)]
pub fn chars_above(text: &[u8], most: usize) -> Option<usize> {
    // So many bytes have to continue characters that others began.
    let wanted = text.len().saturating_sub(most);
    if wanted == 0 {
        return None;
    }
    let mut continuing = 0;
    let mut rest = text;
    while let Some((step, others)) = rest.split_first_chunk::<STEP>() {
        let (halves, _) = step.as_chunks::<HALF>();
        let nibbles = halves.iter().fold(0, |sum, half| nibbles_in(half).wrapping_add(sum));
        continuing = sum_of_nibbles(nibbles).wrapping_add(continuing);
        if continuing >= wanted {
            return None;
        }
        rest = others;
    }
    if let Some((half, others)) = rest.split_first_chunk::<HALF>() {
        continuing = sum_of_nibbles(nibbles_in(half)).wrapping_add(continuing);
        if continuing >= wanted {
            return None;
        }
        rest = others;
    }
    // Two groups and less than a third.
    let mut pairs = 0u64;
    for _ in 0..2 {
        if let Some((group, others)) = rest.split_first_chunk::<GROUP>() {
            pairs = ends_of(kinds_of(group)).wrapping_add(pairs);
            rest = others;
        }
    }
    let (words, last) = rest.as_chunks::<8>();
    let mut kinds = kinds_of(words.as_flattened());
    if !last.is_empty() {
        kinds = kinds >> 2 | last_word(text, last.len()) & KIND;
    }
    pairs = ends_of(kinds).wrapping_add(pairs);
    continuing = sum_of_nibbles(nibbles_of(pairs)).wrapping_add(continuing);
    if continuing >= wanted {
        return None;
    }
    Some(text.len().wrapping_sub(continuing))
}

/// How many bytes continue a character, in 16 sums.
#[inline(always)]
fn nibbles_in(half: &[u8; HALF]) -> u64 {
    let (groups, _) = half.as_chunks::<GROUP>();
    // Three bits at most come together in two: no carry.
    nibbles_of(groups.iter().fold(0u64, |sum, group| sum.wrapping_add(ends_of(kinds_of(group)))))
}

/// The topmost two bits of each byte of up to four words.
#[inline(always)]
fn kinds_of(group: &[u8]) -> u64 {
    let (words, _) = group.as_chunks::<8>();
    words.iter().fold(0, |kinds, word| kinds >> 2 | u64::from_le_bytes(*word) & KIND)
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

/// One in the lower bit of each pair that is `10`.
#[inline(always)]
fn ends_of(kinds: u64) -> u64 {
    kinds >> 1 & !kinds & EVEN
}

/// The sums of two neighbours each, of 32 numbers of two bits.
#[inline(always)]
fn nibbles_of(pairs: u64) -> u64 {
    const LOW: u64 = 0x3333_3333_3333_3333;
    // No sum here can overflow; checks for it would cost more than the additions.
    (pairs & LOW).wrapping_add(pairs >> 2 & LOW)
}

/// The sum of 16 numbers, of which none is above 12.
#[inline(always)]
fn sum_of_nibbles(nibbles: u64) -> usize {
    const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let bytes = (nibbles & LOW).wrapping_add(nibbles >> 4 & LOW);
    // 256 is 1 modulo 255, and the sum is 192 at most.
    (bytes % 255) as usize
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::String;

    /// By [`chars_above`]: with every smaller limit it has to say the same, and with this one that it is enough.
    fn count_chars(text: &[u8]) -> usize {
        let Some(count) = chars_above(text, 0) else {
            assert!(text.iter().all(|byte| byte >> 6 == 0b10), "only what begins no character has none");
            return 0;
        };
        for most in [1, count / 2, count.saturating_sub(1)] {
            let expected = (most < count).then_some(count);
            assert_eq!(chars_above(text, most), expected, "above {most}");
        }
        assert_eq!(chars_above(text, count), None);
        count
    }

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
