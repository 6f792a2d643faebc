//! `identity.user`: which entry somebody is by what people call him, in text.

use crate::identities::UserMapping;
use crate::settings::row::Bad;
use crate::settings::value::{check_filter, dn};
use crate::settings::words;

/// Takes the mapping. There is one, for all ways to name a user.
pub(super) fn set(place: &mut UserMapping, lines: &[String]) -> Result<(), Bad> {
    let mapping = match lines {
        [] => Ok(UserMapping::default()),
        [line] => parse(line).map_err(|reason| vec![(0, reason)]),
        _ => Err(vec![(1, "there is one mapping of users".to_owned())]),
    };
    *place = mapping?;
    Ok(())
}

/// Reads it. A line without words is the default, which nobody needs to write.
fn parse(line: &str) -> Result<UserMapping, String> {
    let mut mapping = UserMapping::default();
    for (name, value) in words::parse(line)? {
        match (&name[..], &value[..]) {
            ("base", _) => mapping.base = Some(dn(&value)?),
            ("scope", "one") => mapping.is_one_level = true,
            ("scope", "sub") => mapping.is_one_level = false,
            ("scope", _) => return Err(format!("`{value}` is neither `one` nor `sub`")),
            ("filter", _) => mapping.filter = Some(checked(value)?),
            _ => return Err(format!("`{name}` is none of `base`, `scope` and `filter`")),
        }
    }
    // Directly below anywhere is nowhere.
    match (&mapping.base, mapping.is_one_level) {
        (None, true) => Err("`scope = one` needs `base`".to_owned()),
        _ => Ok(mapping),
    }
}

/// A filter that can be read when a name stands for `{}`.
/// One without `{}` would mean the same entry for all names.
fn checked(filter: String) -> Result<String, String> {
    let example = filter.replace("{}", "x");
    if example == filter || example.contains(['{', '}']) {
        return Err(format!("`{filter}`: {{}} stands for the name, and nothing else in braces"));
    }
    check_filter(&example).map_err(|error| format!("`{filter}`: {error}"))?;
    Ok(filter)
}

/// The mapping as it is read; nothing if it says nothing.
pub(super) fn show(mapping: &UserMapping) -> Vec<String> {
    let mut line = String::new();
    mapping.base.iter().for_each(|base| words::put(&mut line, "base", base));
    if mapping.is_one_level {
        words::put(&mut line, "scope", "one");
    }
    mapping.filter.iter().for_each(|filter| words::put(&mut line, "filter", filter));
    if line.is_empty() { Vec::new() } else { vec![line] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_come_back() {
        for line in [
            "filter=(mail={})",
            "base=dc=example scope=one filter=(&(cn={})(objectClass=person))",
            "base=dc=x",
        ] {
            assert_eq!(parse(line).map(|mapping| show(&mapping)), Ok(vec![line.to_owned()]));
        }
        assert_eq!(show(&UserMapping::default()), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_mapping() {
        for (line, said) in [
            ("scope=one", "needs `base`"),
            ("base=dc=x scope=base", "neither"),
            ("base=x", "not a DN"),
            ("filter=(uid=ada)", "stands for the name"),
            ("filter=(uid={uid})", "stands for the name"),
            ("filter=(uid={}", "of the filter"),
            ("user=x", "none of"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
        assert!(set(&mut UserMapping::default(), &["base=dc=x".to_owned(), "base=dc=y".to_owned()]).is_err());
    }
}
