//! The order of Java's strings.

use core::cmp::Ordering;

/// Compares as Java does: by UTF-16 code unit.
///
/// That is the order of Rust's strings but for one case. U+E000 to U+FFFF are one code unit, above those (U+D800 to
/// U+DFFF) of which a character beyond U+FFFF takes two; in UTF-8 the first bytes are 0xEE and 0xEF, below the 0xF0 to
/// 0xF4 of those characters.
pub(super) fn compare_names(a: &str, b: &str) -> Ordering {
    let differ = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    differ.map_or_else(|| a.len().cmp(&b.len()), |(a, b)| rank(a).cmp(&rank(b)))
}

/// A number that orders bytes of UTF-8 as the code units of their characters are ordered.
pub(super) const fn rank(byte: u8) -> u8 {
    match byte {
        0xee | 0xef => byte + 0x10,
        _ => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn names_are_ordered_as_their_code_units() {
        let characters = [
            '\0',
            '\u{1}',
            'A',
            'a',
            '\u{7f}',
            '\u{80}',
            '\u{7ff}',
            '\u{800}',
            '\u{d7ff}',
            '\u{e000}',
            '\u{efff}',
            '\u{f000}',
            '\u{fffd}',
            '\u{ffff}',
            '\u{10000}',
            '\u{1f600}',
            '\u{10ffff}',
        ];
        let mut names = alloc::vec![String::new()];
        for first in characters {
            names.push(first.into());
            names.extend(characters.map(|second| String::from_iter([first, second])));
        }
        for a in &names {
            for b in &names {
                let units = a.encode_utf16().cmp(b.encode_utf16());
                assert_eq!(compare_names(a, b), units, "{a:?} {b:?}");
            }
        }
    }
}
