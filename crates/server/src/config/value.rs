//! Values of configuration keys, from text and back.

use crate::logs::{Access, Form, LogValues, OnAuditFailure};
use crate::tokens::Algorithm;
use dsa::settings::Bad;
use model::limits::ACCESS_SECRETS_MAX;
use std::path::PathBuf;
use std::str::FromStr;
use tls::ClientUse;

/// What to do when the disk fails to keep the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLogFailure {
    /// End.
    Exit,
    /// Answer searches, refuse writes.
    ReadOnly,
}

/// The words of a key that takes one of two values, with what they mean.
pub(super) type Words<T> = [(&'static str, T); 2];

/// Which values are logged.
pub(super) const LOG_VALUES: [(&str, LogValues); 3] =
    [("all", LogValues::All), ("hash", LogValues::Hash), ("none", LogValues::None)];

/// That of a word.
pub(super) fn log_values(text: &str) -> Result<LogValues, String> {
    let found = LOG_VALUES.iter().find(|(word, _)| *word == text).map(|(_, values)| *values);
    found.ok_or_else(|| format!("`{text}` is none of `all`, `hash` and `none`"))
}

/// The word for that.
pub(super) fn log_values_word(values: LogValues) -> String {
    LOG_VALUES.iter().find(|(_, other)| *other == values).map_or("", |(word, _)| word).to_owned()
}

pub(super) const ON_LOG_FAILURE: Words<OnLogFailure> =
    [("exit", OnLogFailure::Exit), ("read-only", OnLogFailure::ReadOnly)];
pub(super) const ON_AUDIT_FAILURE: Words<OnAuditFailure> =
    [("continue", OnAuditFailure::Continue), ("read-only", OnAuditFailure::ReadOnly)];

/// The value that a word means.
pub(super) fn meant<T: Copy>(text: &str, words: &Words<T>) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| format!("`{text}` is neither `{}` nor `{}`", words[0].0, words[1].0))
}

/// The word for a value.
pub(super) fn word<T: PartialEq>(value: &T, words: &Words<T>) -> String {
    words[usize::from(words[0].1 != *value)].0.to_owned()
}

/// A sync mode: `always`, `interval=MS` or `none`.
pub(super) fn mode(text: &str) -> Result<wal::Mode, String> {
    match (text, text.strip_prefix("interval=").map(str::parse)) {
        ("always", _) => Ok(wal::Mode::Always),
        ("none", _) => Ok(wal::Mode::None),
        (_, Some(Ok(ms @ 1..=60_000))) => Ok(wal::Mode::Interval { ms }),
        (_, Some(_)) => Err(format!("`{text}`: an interval is 1 to 60000 milliseconds")),
        _ => Err(format!("`{text}` is none of `always`, `interval=MS` and `none`")),
    }
}

/// As it is written.
pub(super) fn mode_text(mode: wal::Mode) -> String {
    match mode {
        wal::Mode::Always => "always".to_owned(),
        wal::Mode::Interval { ms } => format!("interval={ms}"),
        wal::Mode::None => "none".to_owned(),
    }
}

/// Words for the uses of certificates of clients.
const CLIENT_USES: [(&str, ClientUse); 3] =
    [("none", ClientUse::None), ("request", ClientUse::Request), ("require", ClientUse::Require)];

/// Whether clients are asked for certificates.
pub(super) fn client_use(text: &str) -> Result<ClientUse, String> {
    let found = CLIENT_USES.iter().find(|(word, _)| *word == text).map(|(_, of)| *of);
    found.ok_or_else(|| format!("`{text}` is none of `none`, `request` and `require`"))
}

/// The word for that.
pub(super) fn client_word(of: ClientUse) -> &'static str {
    CLIENT_USES.iter().find(|(_, other)| *other == of).map_or("", |(word, _)| word)
}

const ACCESS: [(&str, Access); 3] = [("off", Access::Off), ("sample", Access::Sample), ("all", Access::All)];

/// Which operations are logged.
pub(super) fn logged_access(text: &str) -> Result<Access, String> {
    let found = ACCESS.iter().find(|(word, _)| *word == text).map(|(_, access)| *access);
    found.ok_or_else(|| format!("`{text}` is none of `off`, `sample` and `all`"))
}

/// The word for that.
pub(crate) fn access_word(access: Access) -> &'static str {
    ACCESS.iter().find(|(_, other)| *other == access).map_or("", |(word, _)| word)
}

/// What the access log looks like.
pub(super) fn log_form(text: &str) -> Result<Form, String> {
    let found = Form::WORDS.iter().find(|(word, _)| *word == text).map(|(_, form)| *form);
    found.ok_or_else(|| format!("`{text}` is none of `json`, `openldap`, `389` and `binary`"))
}

/// The word for that.
pub(super) fn form_word(form: Form) -> &'static str {
    Form::WORDS.iter().find(|(_, other)| *other == form).map_or("", |(word, _)| word)
}

/// How tokens may be signed.
pub(super) fn token_algorithm(text: &str) -> Result<Algorithm, String> {
    let found = Algorithm::ALL.iter().find(|(name, _)| *name == text).map(|(_, algorithm)| *algorithm);
    found.ok_or_else(|| format!("`{text}` is none of `RS256`, `ES256` and `EdDSA`"))
}

/// The word for that.
pub(super) fn token_word(of: Algorithm) -> String {
    Algorithm::ALL.iter().find(|(_, other)| *other == of).map_or("", |(name, _)| name).to_owned()
}

/// A version of TLS that is spoken: 1.3, or 1.2.
pub(super) fn tls_version(text: &str) -> Result<bool, String> {
    match text {
        "1.3" => Ok(false),
        "1.2" => Ok(true),
        _ => Err(format!("`{text}` is neither `1.2` nor `1.3`")),
    }
}

pub(super) fn texts<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}

pub(super) fn paths<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<String> {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    paths.into_iter().map(|path| absolute(path).display().to_string()).collect()
}

pub(super) fn each<T>(
    place: &mut Vec<T>,
    values: &[String],
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(), Bad> {
    let mut bad = Bad::new();
    place.clear();
    for (at, text) in values.iter().enumerate() {
        match parse(text) {
            Ok(value) => place.push(value),
            Err(reason) => bad.push((at, reason)),
        }
    }
    if bad.is_empty() { Ok(()) } else { Err(bad) }
}

pub(super) fn secrets(place: &mut Vec<String>, values: &[String]) -> Result<(), Bad> {
    if values.len() > ACCESS_SECRETS_MAX {
        return Err(vec![(
            ACCESS_SECRETS_MAX,
            format!("{ACCESS_SECRETS_MAX} attributes are secrets at most"),
        )]);
    }
    each(place, values, |text| {
        let is_name = model::oid::is_descriptor(text.as_bytes()) || model::oid::is_numeric(text.as_bytes());
        if is_name {
            Ok(text.to_owned())
        } else {
            Err(format!("`{text}` is neither the name of an attribute nor an OID"))
        }
    })
}

pub(super) fn parse<T: FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse()
}

pub(super) fn oid(text: &str) -> Result<String, String> {
    match model::oid::is_numeric(text.as_bytes()) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is not an OID, such as 1.2.3.4")),
    }
}

pub(super) fn non_empty(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Err("a value is expected that is not empty".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

pub(super) fn path(text: &str) -> Result<std::path::PathBuf, String> {
    non_empty(text).map(Into::into)
}
