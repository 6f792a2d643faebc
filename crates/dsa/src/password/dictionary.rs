//! Words that are no passwords, because many people have them: the lines of a file that the server has read.

use ::password::quality;
use model::limits::DICTIONARY_WORDS_MAX;

/// The words, by hashes of 64 bits: eight octets for each, and a word that is none is taken for one in 2^40 cases.
pub(crate) struct Dictionary {
    /// Ascending.
    hashes: Vec<u64>,
}

impl Dictionary {
    /// Of a text with one word in each line; case and blanks around it do not matter. What is no UTF-8 is no word.
    ///
    /// # Errors
    /// If there are more words than are taken.
    pub(crate) fn read(text: &[u8], hash: impl Fn(&[u8]) -> u64) -> Result<Dictionary, String> {
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        let words = lines.map(|line| line.trim().to_lowercase()).filter(|word| !word.is_empty());
        let mut hashes: Vec<u64> =
            words.take(DICTIONARY_WORDS_MAX + 1).map(|word| hash(word.as_bytes())).collect();
        if hashes.len() > DICTIONARY_WORDS_MAX {
            return Err(format!("it has more than {DICTIONARY_WORDS_MAX} words"));
        }
        hashes.sort_unstable();
        hashes.dedup();
        Ok(Dictionary { hashes })
    }

    /// Is a password one of the words, or one with digits and signs around it?
    pub(crate) fn has(&self, word: &[u8], hash: impl Fn(&[u8]) -> u64) -> bool {
        let words = quality::words(word);
        words.is_some_and(|words| {
            words.iter().any(|word| self.hashes.binary_search(&hash(word.as_bytes())).is_ok())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(word: &[u8]) -> u64 {
        word.iter().fold(7, |hash: u64, byte| hash.wrapping_mul(257) ^ u64::from(*byte))
    }

    #[test]
    fn words_are_found_in_any_case_and_with_signs_around_them() {
        let dictionary = Dictionary::read(b"Dragon\r\n\n letmein \n123456\n\xff\n", hash).unwrap();
        for (word, is_there) in [
            (&b"dragon"[..], true),
            (b"DRAGON", true),
            (b"12Dragon!!", true),
            (b"123456", true),
            (b"letmein", true),
            (b"dragons", false),
            (b"12345", false),
            (b"", false),
            (b"!!!", false),
            (b"dragon\xff", false),
        ] {
            assert_eq!(dictionary.has(word, hash), is_there, "{word:?}");
        }
    }
}
