//! A DN taken apart, to be compared with others.

use crate::rule::Reach;
use model::dn::split_first;
use schema::Schema;
use std::cmp::Ordering;
use std::fmt;

/// A DN whose RDNs are in normal form. Two are equal if the DNs match.
#[derive(Clone, Debug)]
pub struct Name {
    rdns: Vec<Vec<u8>>,
    /// As they were written.
    texts: Vec<String>,
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.rdns == other.rdns
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        self.rdns.cmp(&other.rdns)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts.join(","))
    }
}

impl Name {
    /// Takes a DN apart. `None` if it is none under the schema.
    pub fn parse(schema: &Schema, dn: &[u8]) -> Option<Name> {
        schema.normalise_dn(dn, &mut Vec::new()).ok()?;
        let normal = |rdn: &[u8]| {
            let mut out = Vec::new();
            schema.normalise_rdn(rdn, &mut out).ok().map(|()| out)
        };
        let texts = rdns(dn).map(|rdn| String::from_utf8_lossy(rdn).trim().to_owned()).collect();
        Some(Name { rdns: rdns(dn).map(normal).collect::<Option<_>>()?, texts })
    }

    /// RDNs in it.
    pub fn len(&self) -> usize {
        self.rdns.len()
    }

    /// Is it the empty DN?
    pub fn is_empty(&self) -> bool {
        self.rdns.is_empty()
    }

    /// Its superior so many levels up; `None` if it has none.
    pub fn superior(&self, levels: usize) -> Option<Name> {
        let rdns = self.rdns.get(levels..)?.to_vec();
        Some(Name { rdns, texts: self.texts.get(levels..)?.to_vec() })
    }

    /// How many levels it lies below another; 0: it is the other. `None` if it does not lie there.
    pub fn levels_below(&self, other: &Name) -> Option<usize> {
        self.rdns.ends_with(&other.rdns).then(|| self.len() - other.len())
    }

    /// Does it lie at another as far as that reaches?
    pub fn is_within(&self, reach: Reach, other: &Name) -> bool {
        self.levels_below(other).is_some_and(|levels| reaches(reach, levels))
    }
}

/// Does a place reach an entry so many levels below its DN?
pub(crate) fn reaches(reach: Reach, levels: usize) -> bool {
    match reach {
        Reach::Base => levels == 0,
        Reach::One => levels == 1,
        Reach::Subtree => true,
        Reach::Children => levels > 0,
    }
}

/// The RDNs of a DN as they were written, the leftmost first.
pub(crate) fn rdns(dn: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(dn).filter(|dn| !dn.trim_ascii().is_empty());
    std::iter::from_fn(move || {
        let (first, next) = split_first(rest?);
        rest = next;
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_by_their_rules() {
        let schema = schema::Builder::new().standard().build().expect("it is sound");
        let name = |dn: &str| Name::parse(&schema, dn.as_bytes());
        let (upper, lower) = (name("DC=Com").unwrap(), name("uid=a\\2Cb , dc=com").unwrap());
        assert_eq!(lower, name("0.9.2342.19200300.100.1.1=A\\,B,dc=COM").unwrap());
        assert_eq!((lower.levels_below(&upper), upper.levels_below(&lower)), (Some(1), None));
        assert!(lower.is_within(Reach::One, &upper) && !upper.is_within(Reach::One, &upper));
        assert!(upper.is_within(Reach::Subtree, &upper) && !upper.is_within(Reach::Children, &upper));
        assert_eq!((lower.superior(1), lower.superior(3)), (Some(upper), None));
        assert_eq!(lower.to_string(), "uid=a\\2Cb,dc=com");
        assert!(name("").unwrap().is_empty() && name("flavour=x").is_none() && name("x").is_none());
    }
}
