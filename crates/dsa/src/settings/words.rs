//! Values that are made of several: a table in the file, and one line of words `name=value` everywhere else. A value with blanks, commas or
//! quotes stands in double quotes, where two of them are one; a backslash is nothing special, for values are DNs and filters, which have it
//! themselves. An array in a table is joined with commas.

use std::fmt::Write as _;

/// The words of a line, in their order.
///
/// # Errors
/// What is wrong with it.
pub fn parse(line: &str) -> Result<Vec<(String, String)>, String> {
    let (mut words, mut rest) = (Vec::<(String, String)>::new(), line.trim_start());
    while !rest.is_empty() {
        let (name, behind) =
            rest.split_once('=').ok_or_else(|| format!("`{rest}` is not of the form name=value"))?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
            return Err(format!("`{name}` is no name of a value"));
        }
        if words.iter().any(|(other, _)| other == name) {
            return Err(format!("`{name}` is there twice"));
        }
        let (value, behind) = value(behind).ok_or_else(|| format!("the quotes of `{name}` have no end"))?;
        words.push((name.to_owned(), value));
        if !behind.is_empty() && !behind.starts_with(char::is_whitespace) {
            return Err(format!("a blank is expected behind the quotes of `{name}`"));
        }
        rest = behind.trim_start();
    }
    Ok(words)
}

/// The value that a text begins with, and what is behind it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(mut quoted) = text.strip_prefix('"') else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    loop {
        let (part, behind) = quoted.split_once('"')?;
        value.push_str(part);
        match behind.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                quoted = more;
            }
            None => return Some((value, behind)),
        }
    }
}

/// Appends a word to a line.
pub fn put(line: &mut String, name: &str, value: &str) {
    let is_plain =
        !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || matches!(c, '"' | ','));
    let blank = if line.is_empty() { "" } else { " " };
    let _ = match is_plain {
        true => write!(line, "{blank}{name}={value}"),
        false => write!(line, "{blank}{name}=\"{}\"", value.replace('"', "\"\"")),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for values in
            [vec![], vec![("dn", "uid=a b,dc=x"), ("uid", "7")], vec![("filter", "(cn=\"\\22)"), ("x-y", "")]]
        {
            let mut line = String::new();
            values.iter().for_each(|(name, value)| put(&mut line, name, value));
            let found = parse(&line).unwrap();
            assert_eq!(
                found.iter().map(|(name, value)| (&name[..], &value[..])).collect::<Vec<_>>(),
                values,
                "{line}"
            );
        }
    }

    #[test]
    fn what_are_no_words() {
        for (line, said) in [
            ("uid", "not of the form"),
            ("=x", "no name"),
            ("Uid=1", "no name"),
            ("uid=1 uid=2", "twice"),
            ("dn=\"x", "have no end"),
            ("dn=\"x\"y=1", "a blank is expected"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
