//! Words with blanks between them, of which some stand in double quotes.

/// The words of a line. A quoted one may have blanks; a quote in it is doubled. What stands behind `#` at the begin of a word is left out.
///
/// # Errors
/// When quotes are not closed.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut rest) = (Vec::new(), line.trim_start());
    while !rest.is_empty() && !rest.starts_with('#') {
        let (mut word, mut quoted) = (String::new(), false);
        let mut chars = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if quoted && chars.peek().is_some_and(|(_, next)| *next == '"') => {
                    word.push('"');
                    chars.next();
                }
                '"' => quoted = !quoted,
                c if c.is_whitespace() && !quoted => {
                    end = at;
                    break;
                }
                c => word.push(c),
            }
        }
        if quoted {
            return Err("quotes are not closed".to_owned());
        }
        words.push(word);
        rest = rest[end..].trim_start();
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes() {
        let of = |line: &str| words(line).unwrap();
        assert_eq!(
            of("allow  read \"cn=a b\" x=\"y \"\"z\"\"\" # rest"),
            ["allow", "read", "cn=a b", "x=y \"z\""]
        );
        assert_eq!(of("# all of it"), [""; 0]);
        assert_eq!(of("a \"\""), ["a", ""]);
        assert!(words("a \"b").is_err());
    }
}
