//! Differences as they are printed.

use super::changes::{Change, Difference};
use super::entries::Side;
use proto::ldif::put_base64;
use std::fmt;

/// Characters of a value that are shown.
const SHOWN_CHARS_MAX: usize = 256;
/// Values of an attribute, of one server, that are shown of an entry.
const SHOWN_VALUES_MAX: usize = 20;

impl Side {
    /// Its number, as users count.
    pub fn number(self) -> u8 {
        match self {
            Side::First => 1,
            Side::Second => 2,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Only(side, dn) => {
                let (colon, dn) = shown(dn);
                writeln!(f, "only in {}{colon} {dn}", side.number())
            }
            Difference::Differs(dn, changes) => {
                let (colon, dn) = shown(dn);
                writeln!(f, "differs{colon} {dn}")?;
                write_changes(f, changes)
            }
        }
    }
}

fn write_changes(f: &mut fmt::Formatter<'_>, changes: &[Change]) -> fmt::Result {
    let is_same_kind = |a: &Change, b: &Change| match (a, b) {
        (Change::Only(a_side, a, _), Change::Only(b_side, b, _)) => (a_side, a) == (b_side, b),
        _ => false,
    };
    for group in changes.chunk_by(is_same_kind) {
        for change in group.iter().take(SHOWN_VALUES_MAX) {
            match change {
                Change::Only(side, name, value) => {
                    let (colon, value) = shown(value);
                    writeln!(f, "  {} {}{colon} {value}", sign(*side), shown(name).1)
                }
                Change::Secret(name) => writeln!(f, "  ! {}: differs", shown(name).1),
            }?;
        }
        if let (more @ 1.., Change::Only(side, name, _)) =
            (group.len().saturating_sub(SHOWN_VALUES_MAX), &group[0])
        {
            writeln!(f, "  {} {}: ... {more} more", sign(*side), shown(name).1)?;
        }
    }
    Ok(())
}

fn sign(side: Side) -> char {
    match side {
        Side::First => '-',
        Side::Second => '+',
    }
}

/// Bytes on one line, as LDIF has them: the colon before them, one or two, and their text or base64. A long text is cut.
pub fn shown(bytes: &[u8]) -> (&'static str, String) {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control));
    let (colon, text) = match text {
        Some(text) => (":", text.to_owned()),
        None => {
            let mut text = Vec::new();
            put_base64(&mut text, &bytes[..bytes.len().min(SHOWN_CHARS_MAX)]);
            ("::", String::from_utf8(text).unwrap_or_default())
        }
    };
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => (colon, format!("{}... ({} bytes)", &text[..end], bytes.len())),
        None => (colon, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_printed_line_by_line() {
        let only = |side, name: &str, value: &[u8]| Change::Only(side, name.into(), value.into());
        let mut changes = vec![
            only(Side::First, "cn", b"a\nb"),
            only(Side::Second, "cn", "\u{fc}".as_bytes()),
            Change::Secret("userPassword".into()),
        ];
        changes.extend((0..22).map(|n: u8| only(Side::Second, "sn", &[b'a' + n])));
        let text = Difference::Differs("cn=a".into(), changes).to_string();
        let first: Vec<&str> = text.lines().take(5).collect();
        assert_eq!(
            first,
            ["differs: cn=a", "  - cn:: YQpi", "  + cn: \u{fc}", "  ! userPassword: differs", "  + sn: a"]
        );
        assert_eq!(text.lines().last(), Some("  + sn: ... 2 more"));
        assert_eq!(Difference::Only(Side::Second, b"cn=b".to_vec()).to_string(), "only in 2: cn=b\n");
    }

    #[test]
    fn long_values_are_cut() {
        let (_, text) = shown(&[b'x'; 300]);
        assert!(text.ends_with("x... (300 bytes)") && text.len() < 280, "{text}");
    }
}
