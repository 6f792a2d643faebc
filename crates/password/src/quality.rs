//! How good a new password is: what its characters are, whether it has a name in it, whether it is a word that many have, and how easily it is
//! guessed.
//!
//! All of it is about text. Of octets that are no UTF-8 each is a character of its own kind, and no name and no word.

use model::limits::PASSWORD_NAMES_MAX;
use zeroize::Zeroizing;

/// Characters by which it is judged how easily a password is guessed: what follows makes none worse, and time grows with it.
const SCORED_CHARS: usize = 100;
/// Characters of a name that is looked for, and of a part of one, as the words of a full name are.
const NAME_CHARS_MIN: usize = 3;
const PART_CHARS_MIN: usize = 4;

/// The highest score, and the number of kinds of characters.
pub const SCORE_MAX: u8 = 4;
/// Lower case letters, upper case letters, digits, and all others.
pub const CLASSES_MAX: u8 = 4;

/// How many kinds of characters a password has.
pub fn classes(word: &[u8]) -> u8 {
    let mut kinds = [false; CLASSES_MAX as usize];
    let Ok(text) = std::str::from_utf8(word) else { return 1 };
    for char in text.chars() {
        let kind = match char {
            _ if char.is_lowercase() => 0,
            _ if char.is_uppercase() => 1,
            _ if char.is_numeric() => 2,
            _ => 3,
        };
        kinds[kind] = true;
    }
    kinds.iter().map(|is_there| u8::from(*is_there)).sum()
}

/// How hard a password is to guess, from 0 to [`SCORE_MAX`], for somebody who knows these names. It takes up to some milliseconds.
pub fn score(word: &[u8], names: &[Vec<u8>]) -> u8 {
    let text = Zeroizing::new(String::from_utf8_lossy(word).chars().take(SCORED_CHARS).collect::<String>());
    let names = parts(names);
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    u8::from(zxcvbn::zxcvbn(&text, &known).score())
}

/// Has a password one of these names in it, or a name the password? Case does not matter.
pub fn has_name(word: &[u8], names: &[Vec<u8>]) -> bool {
    let Some(text) = lowered(word) else { return false };
    let is_long = text.chars().count() >= NAME_CHARS_MIN;
    parts(names).iter().any(|name| text.contains(name.as_str()) || (is_long && name.contains(text.as_str())))
}

/// Names as they are looked for, in lower case: whole, and their words. Of an address it is what stands before the sign.
fn parts(names: &[Vec<u8>]) -> Vec<String> {
    let mut all = Vec::new();
    for name in names.iter().take(PASSWORD_NAMES_MAX).filter_map(|name| lowered(name)) {
        let name = name.split('@').next().unwrap_or_default();
        let is_long = |part: &str, min: usize| part.chars().count() >= min;
        if is_long(name, NAME_CHARS_MIN) {
            all.push(name.to_owned());
        }
        let words = name.split(|char: char| !char.is_alphanumeric());
        all.extend(words.filter(|part| is_long(part, PART_CHARS_MIN)).map(str::to_owned));
    }
    all
}

fn lowered(text: &[u8]) -> Option<Zeroizing<String>> {
    std::str::from_utf8(text).ok().map(|text| Zeroizing::new(text.to_lowercase()))
}

/// The words that a password may be: it in lower case, and what is left of that without digits and signs at both ends. `None` if it is no text.
pub fn words(word: &[u8]) -> Option<[Zeroizing<String>; 2]> {
    let text = lowered(word)?;
    let bare = Zeroizing::new(text.trim_matches(|char: char| !char.is_alphabetic()).to_owned());
    Some([text, bare])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_of_characters() {
        for (word, count) in [
            (&b""[..], 0),
            (b"abc", 1),
            (b"aB", 2),
            (b"aB1", 3),
            (b"aB1!", 4),
            ("äÖ٣ ".as_bytes(), 4),
            (b"\xff\xfe", 1),
        ] {
            assert_eq!(classes(word), count, "{word:?}");
        }
    }

    #[test]
    fn scores_grow_with_what_is_not_known() {
        let names = [b"Ada Lovelace".to_vec()];
        assert_eq!(score(b"password", &[]), 0);
        assert!(score(b"lovelace", &names) < 2 && score(b"correct horse battery staple", &[]) == SCORE_MAX);
        assert_eq!(score(b"kq7#vTz0!xPw2m", &[]), SCORE_MAX);
        // As many octets as a password may have, which is bounded in time.
        assert!(score(&[b'a'; 1024], &[]) <= SCORE_MAX);
        assert_eq!(score(b"", &[]), 0);
    }

    #[test]
    fn names_are_found_both_ways() {
        let names: Vec<Vec<u8>> = ["ada", "Ada King-Noel", "ada.l@example.com", "al"].map(Vec::from).to_vec();
        for (word, has) in [
            ("xADAx", true),
            ("king", true),
            ("noel99", true),
            ("g-no", true),
            ("example", false),
            ("al", false),
            ("different", false),
        ] {
            assert_eq!(has_name(word.as_bytes(), &names), has, "{word}");
        }
        assert!(!has_name(b"ada\xff", &names) && !has_name(b"anything", &[]));
    }

    proptest! {
        /// As a plain look at all pairs finds it.
        #[test]
        fn a_password_around_a_name_has_it(
            before in "[a-z0-9]{0,4}", name in "[A-Za-z]{3,8}", after in "[a-z0-9]{0,4}", other in "[0-9]{4,8}",
        ) {
            let word = format!("{before}{name}{after}");
            prop_assert!(has_name(word.as_bytes(), &[name.to_uppercase().into_bytes()]));
            prop_assert!(has_name(name.as_bytes(), &[word.into_bytes()]));
            prop_assert!(!has_name(name.as_bytes(), &[other.into_bytes()]));
        }

        #[test]
        fn nothing_panics(word in prop::collection::vec(any::<u8>(), 0..60), name in prop::collection::vec(any::<u8>(), 0..20)) {
            let names = [name];
            prop_assert!(classes(&word) <= CLASSES_MAX && score(&word, &names) <= SCORE_MAX);
            let _ = (has_name(&word, &names), words(&word));
        }
    }
}
