//! The renames of a batch: which of them concern a search, and which name an entry had before all of them.

use crate::faults::holes;
use env::planted;
use model::dn;
use schema::Schema;
use store::stream::Before;

/// Units of bringing a name into its normal form.
pub(super) const NORMALISED_NAME: u64 = 64;
/// Units of comparing two normal forms.
pub(super) const COMPARED_NAME: u64 = 2;

/// A DN with its normal form: it is compared with many others.
#[derive(Clone, Debug, Default)]
pub(super) struct Name {
    text: Vec<u8>,
    form: Vec<u8>,
    /// Where its RDNs begin, in the text and in the normal form. The leftmost is the first.
    rdns: Vec<(usize, usize)>,
}

impl Name {
    /// `None` if it is no DN.
    pub(super) fn of(dn: &[u8], schema: &Schema) -> Option<Name> {
        let mut name = Name { text: dn.to_vec(), ..Name::default() };
        let mut rest = Some(dn).filter(|dn| !dn.is_empty());
        while let Some(text) = rest {
            let (first, next) = dn::split_first(text);
            name.rdns.push((dn.len() - text.len(), name.form.len()));
            schema.normalise_rdn(first, &mut name.form).ok()?;
            rest = next;
        }
        Some(name)
    }

    /// How many RDNs it has more than the DN of an entry above it, or its own; `None` if it lies elsewhere.
    fn below(&self, other: &Name) -> Option<usize> {
        let more = self.rdns.len().checked_sub(other.rdns.len())?;
        let at = self.rdns.get(more).map_or(self.form.len(), |(_, form)| *form);
        (self.form[at..] == other.form).then_some(more)
    }

    /// Its first RDNs, below another entry.
    fn moved(&self, rdns: usize, above: &Name) -> Name {
        let (text, form) = self.rdns.get(rdns).copied().unwrap_or((self.text.len(), self.form.len()));
        let of_above = above.rdns.iter().map(|(in_text, in_form)| (text + in_text, form + in_form));
        Name {
            text: [&self.text[..text], &above.text].concat(),
            form: [&self.form[..form], &above.form].concat(),
            rdns: self.rdns[..rdns].iter().copied().chain(of_above).collect(),
        }
    }

    /// The normal form: equal of equal names.
    pub(super) fn form(&self) -> &[u8] {
        &self.form
    }

    /// The DN as it was spelled.
    fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// Bytes that it takes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.form.capacity() + self.rdns.capacity() * size_of::<(usize, usize)>()
    }
}

/// What an entry was called before it was renamed, and since.
pub(super) struct Rename {
    pub(super) from: Name,
    to: Name,
}

impl Rename {
    /// `None` if one of its names is no DN.
    pub(super) fn of(before: &Before, schema: &Schema, work: &mut u64) -> Option<Rename> {
        *work = work.saturating_sub(2 * NORMALISED_NAME);
        Some(Rename { from: Name::of(&before.dn, schema)?, to: Name::of(&before.new_dn, schema)? })
    }

    fn bytes(&self) -> usize {
        size_of::<Rename>() + self.from.heap_bytes() + self.to.heap_bytes()
    }
}

/// Those that are kept, in their order.
#[derive(Default)]
pub(super) struct Renames {
    kept: Vec<Rename>,
    /// Bytes of their names.
    bytes: usize,
    /// Has an entry left the base?
    has_left: bool,
}

impl Renames {
    /// May a rename lead entries into the content, out of it, or to another name in it?
    /// Not if it is of an entry beside the base that stays there: what becomes of such entries must neither end a search nor be known by it.
    /// But what has left the base in this batch is still in the content, and may be renamed again, and others with it.
    pub(super) fn concern(&mut self, rename: &Rename, base: &Name) -> bool {
        let [was_in, is_in] = [&rename.from, &rename.to].map(|name| name.below(base).is_some());
        self.has_left |= was_in && !is_in;
        was_in || is_in || self.has_left
    }

    /// Keeps a rename, to take it back of names that come later.
    pub(super) fn keep(&mut self, rename: Rename) {
        self.bytes += rename.bytes();
        self.kept.push(rename);
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The DN that an entry had before those that are kept, given the one that it has behind them.
    pub(super) fn name_before(&self, name: &Name, work: &mut u64) -> Vec<u8> {
        *work = work.saturating_sub(COMPARED_NAME * self.kept.len() as u64);
        let mut name = name.clone();
        if planted::is(holes::NAME_IN_BETWEEN) {
            return name.into_text();
        }
        for rename in self.kept.iter().rev() {
            if let Some(more) = name.below(&rename.to) {
                *work = work.saturating_sub(NORMALISED_NAME);
                name = name.moved(more, &rename.from);
            }
        }
        name.into_text()
    }

    /// Bytes that they take.
    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_before_renames() {
        let schema = schema::Builder::new().standard().build().expect("the standard schema");
        let name = |dn: &str| Name::of(dn.as_bytes(), &schema).expect("it is a DN");
        let base = name("OU=In, dc=x");
        let mut renames = Renames::default();
        let mut concern = |from: &str, to: &str| {
            let rename = Rename { from: name(from), to: name(to) };
            let concern = renames.concern(&rename, &base);
            if concern {
                renames.keep(rename);
            }
            concern
        };
        assert!(!concern("cn=a,ou=out,dc=x", "cn=b,ou=out,dc=x"));
        assert!(!concern("ou=in,ou=out,dc=x", "ou=in,dc=x,dc=x"), "its bytes end like those of the base");
        assert!(concern("cn=a\\, b,ou=in,dc=x", "cn=c,OU=IN,dc=x"));
        assert!(concern("cn=c,ou=out,dc=x", "cn=d,ou=in,dc=x"));
        assert!(concern("ou=y,ou=in,dc=x", "ou=z,dc=x"));
        assert!(concern("cn=e,ou=z,dc=x", "cn=f,dc=x"), "it was in the content");
        let before = |dn: &str| {
            let text = renames.name_before(&name(dn), &mut 0);
            String::from_utf8(text).expect("it is text")
        };
        assert_eq!(before("CN=F,dc=x"), "cn=e,ou=y,ou=in,dc=x");
        assert_eq!(before("sn=1+cn=g,cn=C,ou=in,dc=x"), "sn=1+cn=g,cn=a\\, b,ou=in,dc=x");
        assert_eq!(before("cn=f,ou=z,dc=x"), "cn=f,ou=y,ou=in,dc=x");
        assert_eq!(before("cn=x,cn=f,ou=in,dc=x"), "cn=x,cn=f,ou=in,dc=x");
        assert_eq!(name("cn=a,dc=x").below(&name("")), Some(2));
    }
}
