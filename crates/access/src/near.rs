//! Which word was meant by one that does not exist.

/// What to say of a word that is none of `words`: which was meant, if one is near, else which there are.
pub(crate) fn unknown<'w>(kind: &str, word: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    let lower = word.to_ascii_lowercase().replace('_', "-");
    let near = words.iter().map(|known| (strsim::damerau_levenshtein(&lower, known), *known)).min();
    match near.filter(|(distance, _)| *distance <= 1 + word.len() / 3) {
        Some((_, known)) => format!("unknown {kind} `{}`; did you mean `{known}`?", shown(word)),
        None => format!("unknown {kind} `{}`; there are {}", shown(word), words.join(", ")),
    }
}

/// A word as a message repeats it: of what is long, the beginning; without characters that change a terminal.
pub(crate) fn shown(word: &str) -> String {
    const SHOWN: usize = 80;
    let mut text: String = word.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if word.chars().nth(SHOWN).is_some() {
        text.push_str("...");
    }
    text
}
