//! The words of a rule: keys and values, and what is between them.

use super::error::Error;
use super::keys::Part;
use crate::near::shown;

/// A value, its quotes resolved.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// The text, without a `!` before it.
    pub text: String,
    /// `!` stood before it.
    pub negated: bool,
    /// Where the text begins.
    pub at: usize,
}

impl Value {
    /// An error in the value.
    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        Error::new(self.at, reason)
    }

    /// An error `offset` bytes behind the beginning. Doubled quotes before it are not counted.
    pub(super) fn error_at(&self, offset: usize, reason: impl Into<String>) -> Error {
        Error::new(self.at + offset, reason)
    }

    /// The value, if no `!` stands before it.
    pub(super) fn plain(self, key: &str) -> Result<Value, Error> {
        match self.negated {
            true => Err(self.error(format!("`!` before the value of `{key}` means nothing"))),
            false => Ok(self),
        }
    }
}

/// A word: `key`, or `key=value`.
#[derive(Clone, Debug)]
pub(super) struct Word<'t> {
    pub key: &'t str,
    pub value: Option<Value>,
    pub at: usize,
}

impl Word<'_> {
    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        Error::new(self.at, reason)
    }

    /// Its value; it has one.
    pub(super) fn value(self) -> Result<Value, Error> {
        let reason = format!("`{0}` needs a value: {0}=...", self.key);
        self.value.ok_or(Error::new(self.at, reason))
    }
}

/// Reads a rule's words.
pub(super) struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Words<'t> {
    pub(super) fn new(text: &'t str, at: usize) -> Words<'t> {
        Words { text, at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// The next word of the part; `None` at its end.
    pub(super) fn next(&mut self) -> Result<Option<Word<'t>>, Error> {
        self.skip_blanks();
        let start = self.at;
        match self.peek() {
            None | Some(b';' | b'|') => return Ok(None),
            Some(b'"' | b'=') => return Err(Error::new(start, "expected a key, as in key=value")),
            Some(_) => {}
        }
        let ends = |byte: u8| byte.is_ascii_whitespace() || b"=;|\"".contains(&byte);
        while self.peek().is_some_and(|byte| !ends(byte)) {
            self.at += 1;
        }
        let key = &self.text[start..self.at];
        let value = match self.peek() {
            Some(b'=') => {
                self.at += 1;
                Some(self.value()?)
            }
            Some(b'"') => return Err(Error::new(self.at, "a quoted value stands behind `=`")),
            _ => None,
        };
        Ok(Some(Word { key, value, at: start }))
    }

    fn value(&mut self) -> Result<Value, Error> {
        let mut negated = false;
        if self.peek() == Some(b'!') {
            self.at += 1;
            negated = true;
        }
        let (mut at, mut text) = (self.at, String::new());
        match self.peek() {
            Some(b'"') => {
                at += 1;
                text = self.quoted()?;
            }
            _ => text.push_str(self.unquoted()?),
        }
        // In a table of the configuration file the `!` is part of the text.
        if text.starts_with('!') {
            if negated {
                return Err(Error::new(at, "a value has one `!` before it"));
            }
            text.remove(0);
            (negated, at) = (true, at + 1);
        }
        Ok(Value { text, negated, at })
    }

    fn unquoted(&mut self) -> Result<&'t str, Error> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b';' => break,
                b'|' => {
                    let reason = "a value with `|` stands in double quotes; between subjects, `|` has a blank before it";
                    return Err(Error::new(self.at, reason));
                }
                b'"' => {
                    return Err(Error::new(
                        self.at,
                        "a value with quotes stands in quotes, each of them doubled",
                    ));
                }
                _ if byte.is_ascii_whitespace() => break,
                _ => self.at += 1,
            }
        }
        if self.at == start {
            return Err(Error::new(start, "expected a value; an empty one is written \"\""));
        }
        Ok(&self.text[start..self.at])
    }

    /// A value in quotes; `at` is at the first.
    fn quoted(&mut self) -> Result<String, Error> {
        let open = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(quote) = rest.find('"') else {
                return Err(Error::new(open, "the quotes are not closed"));
            };
            out.push_str(&rest[..quote]);
            self.at += quote + 1;
            match self.peek() {
                Some(b'"') => {
                    out.push('"');
                    self.at += 1;
                }
                None | Some(b';' | b'|') => return Ok(out),
                Some(byte) if byte.is_ascii_whitespace() => return Ok(out),
                Some(_) => {
                    let reason =
                        "expected a blank or `;` after the closing quote; a quote in a value is doubled";
                    return Err(Error::new(self.at, reason));
                }
            }
        }
    }

    /// Is there another subject?
    pub(super) fn alternative(&mut self) -> bool {
        let is_there = self.peek() == Some(b'|');
        self.at += usize::from(is_there);
        is_there
    }

    /// Ends a part: behind the last stands nothing, behind the others a `;`.
    pub(super) fn end_part(&mut self, part: Part) -> Result<(), Error> {
        let reason = match (self.peek(), part) {
            (None, Part::Effect | Part::Limits) => return Ok(()),
            (Some(b';'), Part::Target | Part::Subject | Part::LimitSubject) => {
                self.at += 1;
                return Ok(());
            }
            (Some(b';'), Part::Effect) => "a rule has three parts; a value with `;` stands in double quotes",
            (Some(b';'), Part::Limits) => "a limit has two parts; a value with `;` stands in double quotes",
            (Some(b'|'), _) => "`|` stands between subjects only; a value with `|` stands in double quotes",
            (_, Part::Target) => "expected `;` and whom the rule is for",
            (_, Part::Subject) => "expected `;` and what the rule does, as in allow=read",
            (_, Part::LimitSubject) => "expected `;` and the limits, as in size=1000",
            (_, Part::Effect | Part::Limits) => "expected the end of the rule",
        };
        Err(Error::new(self.at, reason))
    }
}

/// Is the opposite meant? `self`, `self=true` or `self=false`.
pub(super) fn switch(word: &Word<'_>) -> Result<bool, Error> {
    let Some(value) = &word.value else { return Ok(false) };
    match value.text.as_str() {
        "true" => Ok(value.negated),
        "false" => Ok(!value.negated),
        _ => Err(value.error(format!("`{0}` takes no value, `true` or `false`", word.key))),
    }
}

/// A list: elements with commas between them, each with its place.
pub(super) fn list<'v>(value: &'v Value, key: &str, max: usize) -> Result<Vec<(usize, &'v str)>, Error> {
    let mut elements = Vec::new();
    let mut at = 0;
    for element in value.text.split(',') {
        let word = element.trim();
        if word.is_empty() {
            return Err(
                value.error_at(at, format!("`{key}` takes elements with commas between them; one is empty"))
            );
        }
        if elements.len() == max {
            return Err(value.error_at(at, format!("`{key}` takes {max} elements at most")));
        }
        elements.push((at + element.find(word).unwrap_or_default(), word));
        at += element.len() + 1;
    }
    Ok(elements)
}

/// A number within bounds.
pub(super) fn number(value: &Value, key: &str, min: u32, max: u32) -> Result<u32, Error> {
    let reason = || format!("`{key}`: `{}` is not a number from {min} to {max}", shown(&value.text));
    let is_decimal = !value.text.is_empty() && value.text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_decimal.then(|| value.text.parse().ok()).flatten();
    number.filter(|number| (min..=max).contains(number)).ok_or_else(|| value.error(reason()))
}
