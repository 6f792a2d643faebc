//! Checks of syntaxes that are text.

use crate::Invalid;
use crate::form::INTEGER_DIGITS_MAX;
use crate::invalid::{ia5, utf8};

type Result = std::result::Result<(), Invalid>;

fn ensure(holds: bool, reason: &'static str) -> Result {
    if holds { Ok(()) } else { Err(Invalid::new(reason)) }
}

/// Is a word one of these, which have spaces between them, in any case?
fn is_one_of(words: &str, word: &[u8]) -> bool {
    words.split(' ').any(|known| known.as_bytes().eq_ignore_ascii_case(word))
}

/// UTF-8, at least one character (RFC 4517 section 3.3.6).
#[inline]
pub(super) fn directory_string(value: &[u8]) -> Result {
    if value.is_empty() {
        return Err(Invalid::new("an empty string"));
    }
    if value.is_ascii() { Ok(()) } else { prepared(value) }
}

/// What no matching rule could compare must not be stored.
#[cold]
fn prepared(value: &[u8]) -> Result {
    use crate::prep::{Edges, prepare};
    utf8(value)?;
    crate::scratch::with(|buffer| prepare(value, false, Edges::VALUE, buffer))
}

/// Letters, digits and a few signs (RFC 4517 section 3.3.29).
pub(super) fn printable_string(value: &[u8]) -> Result {
    ensure(!value.is_empty(), "an empty string")?;
    match value.iter().position(|b| !is_printable(*b)) {
        None => Ok(()),
        Some(at) => Err(Invalid::at("not a character of a printable string", at)),
    }
}

fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"'()+,-./:? =".contains(&byte)
}

/// No leading zeros, no `-0`, no `+` (RFC 4517 section 3.3.16).
pub(super) fn integer(value: &[u8]) -> Result {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    ensure(!digits.is_empty() && digits.iter().all(u8::is_ascii_digit), "not an integer")?;
    ensure(digits[0] != b'0' || value == b"0", "an integer with leading zeros")?;
    ensure(digits.len() <= INTEGER_DIGITS_MAX, "an integer with too many digits")
}

pub(super) fn numeric_string(value: &[u8]) -> Result {
    let legal = !value.is_empty() && value.iter().all(|b| b.is_ascii_digit() || *b == b' ');
    ensure(legal, "not digits and spaces")
}

pub(super) fn country(value: &[u8]) -> Result {
    ensure(value.len() == 2 && value.iter().all(|b| is_printable(*b)), "not a country code of two letters")
}

/// A telephone number and parameters such as `$fineResolution` (RFC 4517 section 3.3.11).
pub(super) fn facsimile(value: &[u8]) -> Result {
    const PARAMETERS: &str =
        "twoDimensional fineResolution unlimitedLength b4Length a3Width b4Width uncompressed";
    let mut parts = value.split(|b| *b == b'$');
    printable_string(parts.next().unwrap_or_default())?;
    ensure(parts.all(|part| is_one_of(PARAMETERS, part)), "an unknown fax parameter")
}

/// `number$country$answerback` (RFC 4517 section 3.3.33).
pub(super) fn telex(value: &[u8]) -> Result {
    let mut parts = value.split(|b| *b == b'$');
    ensure(parts.clone().count() == 3, "not number$country$answerback")?;
    parts.try_for_each(printable_string)
}

/// `identifier$key:value` (RFC 4517 section 3.3.32).
pub(super) fn teletex(value: &[u8]) -> Result {
    const KEYS: &str = "graphic control misc page private";
    let mut parts = value.split(|b| *b == b'$');
    printable_string(parts.next().unwrap_or_default())?;
    let is_parameter = |p: &[u8]| {
        let colon = p.iter().position(|b| *b == b':');
        colon.is_some_and(|at| is_one_of(KEYS, &p[..at]))
    };
    ensure(parts.all(is_parameter), "an unknown teletex parameter")
}

/// Lines with `$` between them, `\24` and `\5C` in them (RFC 4517 section 3.3.28).
pub(super) fn postal_address(value: &[u8]) -> Result {
    directory_string(value)?;
    let mut at = 0;
    while let Some(found) = value[at..].iter().position(|b| *b == b'\\') {
        at += found;
        let escape = value.get(at + 1..at + 3);
        if !escape.is_some_and(|e| e == b"24" || e.eq_ignore_ascii_case(b"5c")) {
            return Err(Invalid::at("a backslash that is not \\24 or \\5C", at));
        }
        at += 3;
    }
    Ok(())
}

/// `type$mailbox` (RFC 4517 section 3.3.27).
pub(super) fn other_mailbox(value: &[u8]) -> Result {
    let Some(dollar) = value.iter().position(|b| *b == b'$') else {
        return Err(Invalid::new("not type$mailbox"));
    };
    printable_string(&value[..dollar])?;
    ia5(&value[dollar + 1..]).map(drop)
}

/// `telephone $ physical` (RFC 4517 section 3.3.5).
pub(super) fn delivery_method(value: &[u8]) -> Result {
    const METHODS: &str = "any mhs physical telex teletex g3fax g4fax ia5 videotex telephone";
    let is_known = |method: &[u8]| is_one_of(METHODS, method.trim_ascii());
    ensure(value.split(|b| *b == b'$').all(is_known), "an unknown delivery method")
}

/// `person#criteria` or criteria alone (RFC 4517 section 3.3.14).
pub(super) fn guide(value: &[u8]) -> Result {
    let mut parts = value.splitn(2, |b| *b == b'#');
    match (parts.next().unwrap_or_default(), parts.next()) {
        (class, Some(text)) => {
            oid(class.trim_ascii())?;
            criteria(text)
        }
        (text, None) => criteria(text),
    }
}

/// `person#criteria#wholeSubtree` (RFC 4517 section 3.3.10).
pub(super) fn enhanced_guide(value: &[u8]) -> Result {
    let parts: Vec<&[u8]> = value.split(|b| *b == b'#').collect();
    let [class, text, subset] = parts[..] else { return Err(Invalid::new("not class#criteria#subset")) };
    oid(class.trim_ascii())?;
    criteria(text)?;
    ensure(is_one_of("baseobject oneLevel wholeSubtree", subset.trim_ascii()), "an unknown subset")
}

/// Terms `attribute$EQ`, with `&`, `|`, `!` and parentheses (RFC 4517 section 3.3.10).
fn criteria(text: &[u8]) -> Result {
    let is_separator = |b: &u8| b"&|!()".contains(b);
    let mut depth = 0i32;
    for byte in text {
        depth += match byte {
            b'(' => 1,
            b')' => -1,
            _ => 0,
        };
        ensure(depth >= 0, "criteria with a ')' too many")?;
    }
    ensure(depth == 0, "criteria with a '(' too many")?;
    let is_term = |term: &[u8]| {
        let term = term.trim_ascii();
        let typed = term.iter().position(|b| *b == b'$').is_some_and(|at| {
            oid(&term[..at]).is_ok() && is_one_of("EQ SUBSTR GE LE APPROX", &term[at + 1..])
        });
        typed || term == b"?true" || term == b"?false"
    };
    let mut terms = text.split(is_separator).filter(|t| !t.trim_ascii().is_empty()).peekable();
    ensure(terms.peek().is_some(), "no criteria")?;
    ensure(terms.all(is_term), "not a criterion such as cn$EQ")
}

/// A numeric OID or a name (RFC 4512 section 1.4).
pub(super) fn oid(value: &[u8]) -> Result {
    ensure(model::oid::is_numeric(value) || model::oid::is_descriptor(value), "not an object identifier")
}

/// `(host,user,domain)`, each may be empty or `-` (RFC 2307 section 2.4).
pub(super) fn netgroup_triple(value: &[u8]) -> Result {
    let inner = value.strip_prefix(b"(").and_then(|v| v.strip_suffix(b")"));
    let inner = inner.ok_or(Invalid::new("not (host,user,domain)"))?;
    ensure(inner.split(|b| *b == b',').count() == 3, "not (host,user,domain)")?;
    ia5(inner).map(drop)
}

/// `key=server:path` (RFC 2307 section 2.4).
pub(super) fn boot_parameter(value: &[u8]) -> Result {
    let equals = value.iter().position(|b| *b == b'=');
    let fits = equals.is_some_and(|at| at > 0 && value[at..].contains(&b':'));
    ensure(fits, "not key=server:path")?;
    ia5(value).map(drop)
}

/// `initial*any*final` (RFC 4517 section 3.3.30).
pub(super) fn substring_assertion(value: &[u8]) -> Result {
    directory_string(value)?;
    ensure(
        value.contains(&b'*') && !value.windows(2).any(|w| w == b"**"),
        "not a substring assertion such as a*b",
    )
}

/// `scheme$info$value` (RFC 3112 section 2).
pub(super) fn auth_password(value: &[u8]) -> Result {
    ia5(value)?;
    ensure(value.split(|b| *b == b'$').count() == 3, "not scheme$authInfo$authValue")
}

/// `{ ... }` (RFC 3672 section 2.1); what is inside is for those that use it.
pub(super) fn subtree_specification(value: &[u8]) -> Result {
    let value = utf8(value)?.trim();
    ensure(value.starts_with('{') && value.ends_with('}'), "not a subtree specification in braces")
}

/// One BER SEQUENCE that fills the value: the outside of a certificate or a list of them.
pub(super) fn ber_sequence(value: &[u8]) -> Result {
    let is_one = value.first() == Some(&0x30) && model::dn::ber_contents(value).is_some();
    ensure(is_one, "not a DER SEQUENCE")
}
