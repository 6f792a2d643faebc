//! The naming contexts of a shard. They are few and never change, so each is looked at in turn; a name whose superior is
//! remembered needs none of it.

use crate::resolve::dn_key;
use schema::Schema;

/// A naming context: its root entry has no superior here.
pub(crate) struct Suffix {
    /// As configured, in canonical spelling.
    pub(crate) text: Vec<u8>,
    /// RDN keys one behind the other.
    pub(crate) key: Vec<u8>,
    /// Number of RDNs.
    pub(crate) rdns: usize,
}

/// All naming contexts, the longest first, so that the first that fits is the nearest.
pub(crate) struct Suffixes(Vec<Suffix>);

impl Suffixes {
    pub(crate) fn new(texts: &[String], schema: &Schema) -> Result<Suffixes, String> {
        let mut all = Vec::new();
        for text in texts {
            let mut key = Vec::new();
            let rdns =
                dn_key(schema, text.as_bytes(), &mut key).map_err(|e| format!("suffix \"{text}\": {e}"))?;
            if rdns == 0 {
                return Err("the empty DN cannot be a suffix".to_owned());
            }
            assert!(key.len() > rdns, "each RDN of a naming context has a key");
            all.push(Suffix { text: text.clone().into_bytes(), key, rdns });
        }
        all.sort_by_key(|s| std::cmp::Reverse(s.rdns));
        Ok(Suffixes(all))
    }

    /// The naming context that holds a DN, given the keys of its RDNs, leftmost first.
    pub(crate) fn holding(&self, rdn_keys: &[Vec<u8>]) -> Option<&Suffix> {
        self.0.iter().find(|suffix| {
            suffix.rdns <= rdn_keys.len() && rdn_keys[rdn_keys.len() - suffix.rdns..].concat() == suffix.key
        })
    }

    /// Does a name end with a naming context as it was configured, octet by octet, behind a comma that is not escaped? The rest of it is not looked at,
    /// and may be malformed.
    pub(crate) fn end(&self, dn: &[u8]) -> bool {
        self.0.iter().any(|suffix| match dn.strip_suffix(&suffix.text[..]) {
            Some([]) => true,
            Some([.., before, b',']) => *before != b'\\',
            _ => false,
        })
    }

    /// Does a naming context begin right below this name, so that not all just below it belong to it?
    pub(crate) fn any_below(&self, rdn_keys: &[Vec<u8>]) -> bool {
        let key = rdn_keys.concat();
        self.0.iter().any(|suffix| suffix.rdns == rdn_keys.len() + 1 && suffix.key.ends_with(&key))
    }

    /// The naming context with this key.
    pub(crate) fn with_key(&self, key: &[u8]) -> Option<&Suffix> {
        self.0.iter().find(|suffix| suffix.key == key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Suffix> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_a_context_as_it_was_configured() {
        let schema = schema::Builder::new().standard().build().expect("the standard schema");
        let contexts = ["dc=example,dc=com".to_owned(), "o=b".to_owned()];
        let suffixes = Suffixes::new(&contexts, &schema).expect("they are names");
        for (dn, ends) in [
            ("dc=example,dc=com", true),
            ("uid=a,dc=example,dc=com", true),
            ("uid=,,dc=example,dc=com", true),
            ("o=b", true),
            ("ou=x,o=b", true),
            ("dc=Example,dc=com", false),
            ("xdc=example,dc=com", false),
            (",dc=example,dc=com", false),
            (r"cn=a\,dc=example,dc=com", false),
            (r"cn=a\\,dc=example,dc=com", false),
            ("dc=com", false),
            ("", false),
        ] {
            assert_eq!(suffixes.end(dn.as_bytes()), ends, "{dn}");
        }
    }
}
