//! `[[identity.peer]]`: which entry a user of the machine is, in text.

use super::words;
use dsa::config::{MappedTo, PeerMapping};
use dsa::settings::value::{check_filter, dn};

/// Reads a mapping.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(line: &str) -> Result<PeerMapping, String> {
    let (mut uid, mut gid, mut name_of, mut base, mut filter) = (None, None, None, None, None);
    for (name, value) in words::parse(line)? {
        match &name[..] {
            "uid" => uid = Some(number(&value)?),
            "gid" => gid = Some(number(&value)?),
            "dn" => name_of = Some(dn(&value)?),
            "base" => base = Some(dn(&value)?),
            "filter" => filter = Some(checked(value)?),
            _ => return Err(format!("`{name}` is none of `uid`, `gid`, `dn`, `base` and `filter`")),
        }
    }
    let to = match (name_of, filter) {
        (Some(dn), None) if base.is_none() => MappedTo::Dn(dn),
        (None, Some(filter)) => MappedTo::Filter { base, filter },
        _ => return Err("either `dn` is needed, or `filter` and perhaps `base`".to_owned()),
    };
    Ok(PeerMapping { uid, gid, to })
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is no number of a user or a group"))
}

/// A filter that can be read when numbers stand for `{uid}` and `{gid}`.
fn checked(filter: String) -> Result<String, String> {
    let example = filter.replace("{uid}", "0").replace("{gid}", "0");
    if example.contains(['{', '}']) {
        return Err(format!("`{filter}`: only {{uid}} and {{gid}} stand for numbers"));
    }
    check_filter(&example).map_err(|error| format!("`{filter}`: {error}"))?;
    Ok(filter)
}

/// A mapping as it is read.
pub(super) fn show(mapping: &PeerMapping) -> String {
    let mut line = String::new();
    for (name, number) in [("uid", mapping.uid), ("gid", mapping.gid)] {
        number.iter().for_each(|number| words::put(&mut line, name, &number.to_string()));
    }
    match &mapping.to {
        MappedTo::Dn(dn) => words::put(&mut line, "dn", dn),
        MappedTo::Filter { base, filter } => {
            base.iter().for_each(|base| words::put(&mut line, "base", base));
            words::put(&mut line, "filter", filter);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_come_back() {
        for line in [
            "uid=1000 dn=\"uid=ada,dc=example\"",
            "uid=0 gid=0 dn=dc=example",
            "filter=(&(uidNumber={uid})(gidNumber={gid}))",
            "gid=4294967295 base=\"ou=people,dc=example\" filter=(uidNumber={uid})",
        ] {
            assert_eq!(parse(line).map(|mapping| show(&mapping)), Ok(line.to_owned()));
        }
    }

    #[test]
    fn what_is_no_mapping() {
        for (line, said) in [
            ("", "either `dn`"),
            ("uid=1", "either `dn`"),
            ("dn=dc=x filter=(a=b)", "either `dn`"),
            ("dn=dc=x base=dc=x", "either `dn`"),
            ("uid=-1 dn=dc=x", "no number"),
            ("uid=4294967296 dn=dc=x", "no number"),
            ("dn=x", "not a DN"),
            ("user=1", "none of"),
            ("filter=(uid={name})", "only {uid} and {gid}"),
            ("filter=(uid={uid}", "of the filter"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
