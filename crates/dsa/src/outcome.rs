//! The one place where a refusal becomes a resultCode, a matchedDN and a diagnosticMessage (RFC 4511 section 4.1.9).
//!
//! Texts are for people: what is wrong, with which name or value, and what to do about it. They may change between versions; codes do not. No text has
//! anything of an entry that its client may not read, and a client's own text is shown quoted and cut.

use model::ResultCode;
use proto::control::Control;
use proto::control::no_op::NO_OPERATION;
use proto::control::password_policy::{self, PolicyResponse};
use proto::error::{DecodeError, Kind};
use proto::result::{LdapResult, encode_done, encode_response, encode_result};
use proto::tag;
use schema::{DescriptionError, Schema};
use store::{DnCache, ReadPoint, Refused, Unresolved};

/// Naming contexts that a message lists; a server may have many.
const CONTEXTS_SHOWN_MAX: usize = 8;
/// Characters of a client's text that a message repeats.
/// A client could send megabytes to be repeated in a log.
const QUOTED_CHARS_MAX: usize = 80;

/// Code and text of a refusal.
pub(crate) type Refusal = (ResultCode, String);

/// Code and text of a refusal whose text is always the same.
pub(crate) type FixedRefusal = (ResultCode, &'static str);

/// unwillingToPerform: the request is understood, and this server will not do it.
pub(crate) fn unwilling(text: impl Into<String>) -> Refusal {
    (ResultCode::UnwillingToPerform, text.into())
}

/// Answers that an operation was applied.
/// The only function here that is on a fast path: the response is a copy of bytes with the id put in.
#[inline]
pub(crate) fn succeed(out: &mut Vec<u8>, id: i32, response_tag: u8) {
    encode_done(out, id, response_tag, ResultCode::Success);
}

/// Answers that an update with the control no-op would have succeeded.
#[cold]
pub(crate) fn check(out: &mut Vec<u8>, id: i32, response_tag: u8) {
    let result = LdapResult { code: NO_OPERATION, ..LdapResult::new(ResultCode::Success) };
    encode_response(out, id, response_tag, &result, |_| {}, &[]);
}

/// Answers with a code and what there is to say about it.
#[cold]
pub(crate) fn say(out: &mut Vec<u8>, id: i32, response_tag: u8, code: ResultCode, text: &str) {
    encode_result(out, id, response_tag, code, b"", text, &[]);
}

/// Answers with a code, what there is to say about it, and controls.
pub(crate) fn say_with(
    out: &mut Vec<u8>,
    id: i32,
    response_tag: u8,
    (code, text): (ResultCode, &str),
    controls: &[Control<'_>],
) {
    encode_result(out, id, response_tag, code, b"", text, controls);
}

/// Refuses with what a password policy says of it, if the client wants to know (`said`) and a policy is why.
#[cold]
pub(crate) fn say_with_policy(
    out: &mut Vec<u8>,
    id: i32,
    response_tag: u8,
    refusal: (ResultCode, &str),
    said: Option<&PolicyResponse>,
) {
    let value = said.filter(|said| said.error.is_some()).map(PolicyResponse::encode);
    let control = value.as_deref().map(password_policy::control);
    say_with(out, id, response_tag, refusal, control.as_slice());
}

/// How a request is refused for which there is no reader: those that there are have searches.
pub(crate) const NO_READER: FixedRefusal =
    (ResultCode::Busy, "the limit of concurrent readers is reached; try again");

/// Answers that there is no reader for a request.
#[cold]
pub(crate) fn lack_reader(out: &mut Vec<u8>, id: i32, response_tag: u8) {
    say(out, id, response_tag, NO_READER.0, NO_READER.1);
}

/// Answers that the store refused a command.
/// matchedDN is the nearest entry above that there is (RFC 4511 section 4.1.9), and empty for all other refusals.
#[cold]
pub(crate) fn refuse(
    out: &mut Vec<u8>,
    id: i32,
    response_tag: u8,
    refused: &Refused,
    read_point: ReadPoint<'_>,
    cache: &mut DnCache,
) {
    let matched = refused.matched().and_then(|matched| read_point.entry(matched));
    let matched_dn = matched.map(|entry| read_point.dn(&entry, cache)).unwrap_or_default();
    let text = match refused {
        Refused::OutsideNamingContexts => outside(&read_point.shard().settings().suffixes),
        // The suffix is served, but its root was never added: the usual mistake with an empty directory.
        Refused::NoSuchObject { matched: None } => no_root("the entry does not exist"),
        Refused::NoSuchSuperior { matched: None } => no_root("the superior entry does not exist"),
        other => other.to_string(),
    };
    encode_result(out, id, response_tag, refused.result_code(), &matched_dn, &text, &[]);
}

/// Answers that a DN leads to no entry.
/// The same words for reads and for updates.
#[cold]
pub(crate) fn unresolved(
    out: &mut Vec<u8>,
    id: i32,
    response_tag: u8,
    dn: &[u8],
    unresolved: Unresolved,
    read_point: ReadPoint<'_>,
    cache: &mut DnCache,
) {
    // The same refusals as the store's, so that a search and an update say the same of a name.
    let refused = match unresolved {
        Unresolved::Invalid(reason) => Refused::InvalidDn(reason),
        Unresolved::NoSuchObject(None) if !read_point.shard().holds(dn) => Refused::OutsideNamingContexts,
        // The root of the naming context is there, so it is hidden from this client, with all that is below it.
        Unresolved::NoSuchObject(None) if has_root(read_point, cache) => {
            let text = "there is no such entry, or this client may not know of it; bind first";
            return say(out, id, response_tag, ResultCode::NoSuchObject, text);
        }
        Unresolved::NoSuchObject(matched) => Refused::NoSuchObject { matched },
    };
    refuse(out, id, response_tag, &refused, read_point, cache);
}

/// Is there the root of a naming context?
fn has_root(read_point: ReadPoint<'_>, cache: &mut DnCache) -> bool {
    let suffixes = &read_point.shard().settings().suffixes;
    suffixes.iter().any(|suffix| read_point.resolve(suffix.as_bytes(), cache).is_ok())
}

/// Answers a message that could not be decoded, if an answer is due and its beginning said to what.
/// `false` means that nothing could be answered: the session is to be ended with a notice of disconnection (RFC 4511 section 4.1.1).
#[cold]
pub(crate) fn answer_malformed(error: &DecodeError, out: &mut Vec<u8>) -> bool {
    match error.answerable() {
        Some((id, Some(response))) => {
            let text = format!("{} (byte {} of the message)", error.reason, error.offset);
            let code = match error.kind {
                Kind::Limit => ResultCode::AdminLimitExceeded,
                _ => ResultCode::ProtocolError,
            };
            encode_result(out, id, response, code, b"", &text, &[]);
            true
        }
        // An abandon has no answer, and its session goes on; an unbind ends it.
        Some((_, None)) => error.op_tag != Some(tag::UNBIND),
        None => false,
    }
}

/// Code and message for an attribute description that the schema does not take.
/// A near name of the schema is offered: most wrong names are misspelt.
#[cold]
pub(crate) fn undescribed(schema: &Schema, text: &[u8], error: DescriptionError) -> Refusal {
    let shown = quoted(text);
    match error {
        DescriptionError::UnknownType => {
            let (unknown, _) = model::attribute::split_options(text);
            let meant = schema.nearest_type(unknown).map(|name| format!("; did you mean \"{name}\"?"));
            let (name, meant) = (quoted(unknown), meant.unwrap_or_default());
            let message = format!("attribute type {name} is not in the schema{meant}");
            (ResultCode::UndefinedAttributeType, message)
        }
        DescriptionError::Malformed => {
            (ResultCode::UndefinedAttributeType, format!("{shown} is not an attribute description"))
        }
        DescriptionError::LanguageRange
        | DescriptionError::OptionsTooLong
        | DescriptionError::TooManyOptionSets
        | DescriptionError::NoBinaryForm => {
            (error.result_code(), format!("attribute description {shown}: {error}"))
        }
    }
}

/// Why [`Schema::find_wanted`] found nothing, if the schema is the reason; `None` if the type is known and just no
/// entry can have so many or so long options.
#[cold]
pub(crate) fn why_unknown(schema: &Schema, text: &[u8]) -> Option<DescriptionError> {
    if !model::attribute::is_well_formed(text) {
        return Some(DescriptionError::Malformed);
    }
    if schema.lacks_binary_form(text) {
        return Some(DescriptionError::NoBinaryForm);
    }
    let (kind, _) = model::attribute::split_options(text);
    schema.find_type(kind).is_none().then_some(DescriptionError::UnknownType)
}

/// What is said of a search that a limit ended. The code says which limit.
pub(crate) fn limit_text(code: ResultCode) -> &'static str {
    match code {
        ResultCode::SizeLimitExceeded => "the size limit is reached",
        ResultCode::Busy => TOO_MUCH_KEPT,
        ResultCode::TimeLimitExceeded => "the time limit was reached before all entries were looked at",
        ResultCode::AdminLimitExceeded => "the search took longer than the server keeps a read point",
        ResultCode::InsufficientAccessRights => {
            "insufficient rights: manage on the entry is needed to see the rights of others"
        }
        _ => "",
    }
}

/// Said of a search that there is no memory for.
pub(crate) const TOO_MUCH_KEPT: &str =
    "the memory limit of active searches is reached; try again or use a shorter filter";

/// What is said of a search that has looked at as many entries as its client may have looked at. `advice`: the index that it lacks.
#[cold]
pub(crate) fn look_through_text(advice: Option<&str>) -> String {
    let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("the limit of entries to look at is reached{advice}")
}

/// What is said of a search that was ended for what it held.
pub(crate) fn revoked_text(bytes_held: u64, age_ns: u64) -> String {
    let (mib, seconds) = (bytes_held.div_ceil(1 << 20), age_ns / 1_000_000_000);
    format!("the search held {mib} MiB of old versions for {seconds} s and was ended to free memory")
}

/// A text of a client for a message: in quotes, and the begin of it if it is long.
pub(crate) fn quoted(text: &[u8]) -> String {
    format!("\"{}\"", shortened(text))
}

/// A text of a client for a message: the begin of it if it is long. What cannot be shown is escaped when the message is encoded.
/// Cut by bytes first: the conversion would else go through all of a long text.
pub(crate) fn shortened(text: &[u8]) -> String {
    let lossy = String::from_utf8_lossy(&text[..text.len().min(4 * QUOTED_CHARS_MAX)]);
    let short: String = lossy.chars().take(QUOTED_CHARS_MAX).collect();
    let rest = if short.len() < text.len() { "..." } else { "" };
    format!("{short}{rest}")
}

/// Naming contexts are public (RFC 4512 section 5.1), so they may stand in a message to anybody.
fn outside(contexts: &[String]) -> String {
    let mut shown: Vec<String> =
        contexts.iter().take(CONTEXTS_SHOWN_MAX).map(|dn| format!("\"{dn}\"")).collect();
    if contexts.len() > CONTEXTS_SHOWN_MAX {
        shown.push(format!("{} more", contexts.len() - CONTEXTS_SHOWN_MAX));
    }
    match &shown[..] {
        [] => "this server has no naming contexts".to_owned(),
        shown => {
            format!("the DN is not within a naming context of this server; it holds {}", shown.join(", "))
        }
    }
}

/// With what to do, for it is the first error that a new user meets.
fn no_root(what: &str) -> String {
    format!("{what}, and neither does the root of its naming context; add that first")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_repeat_only_a_part_of_long_texts() {
        assert_eq!(quoted(b"cn"), "\"cn\"");
        assert_eq!(quoted(&[b'a'; 1000]), format!("\"{}...\"", "a".repeat(80)));
        assert_eq!(quoted(b"\xff"), "\"\u{fffd}\"");
        assert_eq!(quoted("\u{e4}".repeat(81).as_bytes()), format!("\"{}...\"", "\u{e4}".repeat(80)));
    }

    #[test]
    fn contexts_are_named() {
        assert!(outside(&["dc=com".to_owned()]).ends_with("it holds \"dc=com\""));
        let many: Vec<String> = (0..10).map(|n| format!("o={n}")).collect();
        assert!(outside(&many).ends_with("\"o=7\", 2 more"));
    }
}
