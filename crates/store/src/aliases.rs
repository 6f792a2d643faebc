//! Names that lead through aliases (RFC 4512 section 2.6) and below referral objects (RFC 3296), and how the writer keeps the sets of
//! such entries ([`crate::kinds`]).

use crate::deferred::Later;
use crate::dn_cache::DnCache;
use crate::record::EntryRef;
use crate::resolve::Unresolved;
use crate::shape::{Kind, Shape};
use crate::shard::{ReadPoint, Shard, Writer};
use model::limits::DN_BYTES_MAX;
use model::{Description, EntryId, TypeId, dn};

/// Aliases that one name may lead through. A circle is not looked for: it reaches this bound, as does a chain that no client
/// waits for.
const STEPS_MAX: usize = 32;

/// Why an alias leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AliasError {
    /// It names no entry of this server; the alias that does.
    Dangling(EntryId),
    /// Aliases lead round in a circle, or through too many others.
    Loop(EntryId),
    /// No alias is to blame: the name itself leads nowhere.
    Unresolved(Unresolved),
    /// It stands for a name below a referral object, which is no entry of this server.
    Elsewhere {
        /// The alias.
        alias: EntryId,
        /// The nearest entry that there is: a referral object, or below one.
        nearest: EntryId,
        /// The DN that was meant, behind all aliases.
        dn: Vec<u8>,
    },
}

// One load each, so that a search of a directory without such entries pays for nothing else. Sets are supersets: an entry that was
// deleted counts until no reader can see it.
impl Shard {
    /// Are there aliases, or were there lately?
    #[inline]
    pub fn has_aliases(&self) -> bool {
        self.kinds.aliases.len() > 0
    }

    /// Number of subentries, with some that were some lately.
    #[inline]
    pub fn subentries(&self) -> usize {
        self.kinds.subentries.len() as usize
    }

    /// Are there referral objects, or were there lately?
    #[inline]
    pub fn has_referrals(&self) -> bool {
        self.kinds.referrals.len() > 0
    }

    /// Are there subentries, or were there lately?
    #[inline]
    pub fn has_subentries(&self) -> bool {
        self.kinds.subentries.len() > 0
    }
}

impl<'a> ReadPoint<'a> {
    /// The referral object that an entry is or is below of: the one that is met first on the way down to it. The walk goes up and
    /// ends, since no entry is moved below itself.
    pub fn referral_above(self, id: EntryId) -> Option<EntryRef<'a>> {
        let (mut next, mut found) = (id, None);
        while let Some(entry) = self.entry(next) {
            if entry.shape.kind == Kind::Referral {
                found = Some(entry);
            }
            next = entry.parent();
        }
        found
    }

    /// What kind of entry this is, if it exists here.
    pub fn kind(self, id: EntryId) -> Option<Kind> {
        self.entry(id).map(|entry| entry.shape.kind)
    }

    /// Appends the values of an attribute, without options, to `out`.
    pub fn values_of(self, entry: &EntryRef<'a>, attribute_type: TypeId, out: &mut Vec<Vec<u8>>) {
        let Some(at) = entry.shape.position(Description::plain(attribute_type)) else { return };
        self.each_value(entry.slot(at), |value| out.push(value.to_vec()));
    }

    /// The entry that a DN leads to if aliases are followed, in place of any of its RDNs too; and its DN by then.
    ///
    /// Each turn resolves the whole text. If it ends at an alias, or at what would be below one, the alias's part of the text is
    /// replaced by the name that it stands for. Texts grow if an alias stands for a name below itself: the bound on a DN's
    /// bytes ends that before the bound on steps does.
    ///
    /// An entry that is not seen is as if it were absent, be it an alias on the way or what the last one stands for; whether the name
    /// itself may be disclosed is not asked.
    ///
    /// # Errors
    /// When the DN leads nowhere, by itself or by an alias.
    pub fn resolve_through(
        self,
        dn: &[u8],
        cache: &mut DnCache,
        sees: &mut dyn FnMut(&EntryRef<'_>) -> bool,
    ) -> Result<(EntryId, Vec<u8>), AliasError> {
        // The alias that the text is from, for it is to blame if the text leads nowhere.
        let (mut text, mut last) = (dn.to_vec(), None);
        for _ in 0..=STEPS_MAX {
            let found = self.resolve(&text, cache);
            let met = match &found {
                Ok(id) if last.is_some() || self.kind(*id) == Some(Kind::Alias) => self.entry(*id),
                Err(Unresolved::NoSuchObject(Some(id))) if self.kind(*id) == Some(Kind::Alias) => {
                    self.entry(*id)
                }
                _ => None,
            };
            if let Some(hidden) = met.filter(|met| !sees(met)) {
                let absent = Unresolved::NoSuchObject(Some(hidden.parent()).filter(|id| id.0 != 0));
                return Err(last.map_or(AliasError::Unresolved(absent), AliasError::Dangling));
            }
            let (alias, below) = match found {
                Ok(id) if self.kind(id) == Some(Kind::Alias) => (id, 0),
                Ok(id) => return Ok((id, text)),
                Err(Unresolved::NoSuchObject(Some(id))) if self.kind(id) == Some(Kind::Alias) => {
                    (id, self.rdns_below(&text, id))
                }
                Err(unresolved) => {
                    return Err(match (last, &unresolved) {
                        (None, _) => AliasError::Unresolved(unresolved),
                        (Some(alias), Unresolved::NoSuchObject(Some(nearest)))
                            if self.referral_above(*nearest).is_some() =>
                        {
                            AliasError::Elsewhere { alias, nearest: *nearest, dn: text }
                        }
                        (Some(alias), _) => AliasError::Dangling(alias),
                    });
                }
            };
            text = self.replace_superior(&text, below, alias).ok_or(AliasError::Dangling(alias))?;
            if text.len() > DN_BYTES_MAX {
                return Err(AliasError::Loop(alias));
            }
            last = Some(alias);
        }
        Err(last.map_or(AliasError::Unresolved(Unresolved::NoSuchObject(None)), AliasError::Loop))
    }

    /// How many RDNs of a DN are below one of its superiors. Texts may differ in spelling and in length, so RDNs are counted.
    pub fn rdns_below(self, dn: &[u8], superior: EntryId) -> usize {
        let mut own = Vec::new();
        if let Some(entry) = self.entry(superior) {
            self.write_dn(&entry, &mut DnCache::default(), &mut own);
        }
        let count = |dn: &[u8]| dn::parse(dn).map_or(0, |rdns| rdns.len());
        count(dn).saturating_sub(count(&own))
    }

    /// The first `below` RDNs of a DN, then what an alias stands for.
    fn replace_superior(self, dn: &[u8], below: usize, alias: EntryId) -> Option<Vec<u8>> {
        let aliased = self.shard.schema.well_known().aliased_object_name;
        let mut names = Vec::new();
        self.values_of(&self.entry(alias)?, aliased, &mut names);
        let mut text = first_rdns(dn, below).to_vec();
        if below > 0 {
            text.push(b',');
        }
        text.extend_from_slice(names.first()?);
        Some(text)
    }
}

/// The text of the first RDNs of a DN, spelled as it is and without the comma behind them. All of it if there are fewer.
pub fn first_rdns(dn: &[u8], count: usize) -> &[u8] {
    let mut rest = Some(dn);
    for _ in 0..count {
        rest = rest.and_then(|rest| dn::split_first(rest).1);
    }
    match rest {
        None => dn,
        Some(_) if count == 0 => b"",
        Some(rest) => {
            assert!(rest.len() < dn.len(), "a comma stands between the first RDNs and the rest");
            &dn[..dn.len() - rest.len() - 1]
        }
    }
}

impl ReadPoint<'_> {
    /// The subentries, `max` at most, by rising id.
    pub fn subentries(self, max: usize) -> Vec<EntryId> {
        let mut ids = Vec::new();
        self.shard.kinds.subentries.push_from(0, max, self, &mut ids);
        let is_one =
            |id: &u32| self.entry(EntryId(*id)).is_some_and(|entry| entry.shape.kind == Kind::Subentry);
        ids.into_iter().filter(is_one).map(EntryId).collect()
    }
}

impl Writer<'_> {
    /// The entry with this DN, or else the nearest superior that there is; and whether it is the entry. It sees what the batch has
    /// changed so far, so that a command finds what stands above its target when its turn comes.
    pub fn nearest(&mut self, dn: &[u8]) -> Option<(EntryId, bool)> {
        match self.existing(dn) {
            Ok(id) => Some((id, true)),
            Err(refused) => refused.matched().map(|id| (id, false)),
        }
    }

    /// An entry of this shape is about to be seen: it is noted before its batch is published, so no search misses it.
    pub(crate) fn note_kind(&mut self, id: u32, shape: &Shape) {
        let (shard, view) = (self.shard, self.view());
        if let Some(set) = shard.kinds.of(shape.kind) {
            set.insert(id, view, &mut self.state.garbage);
        }
        if shape.has_access_rules {
            self.note_access_rules(id);
        }
        if shape.is_dynamic {
            self.note_dynamic(id);
        }
        if shape.is_collective {
            shard.kinds.collective.insert(id, view, &mut self.state.garbage);
        }
    }

    /// Notes all entries of a shard that was just restored. Looks at them only if one can be an alias or a referral: shapes that no
    /// entry has were dropped before.
    pub(crate) fn note_kinds(&mut self) {
        let (shard, view) = (self.shard, self.view());
        let mut shapes = (0..self.state.shapes.end()).filter_map(|number| shard.shapes.find(number));
        if shapes.all(|shape| shape.kind == Kind::Plain && !shape.has_access_rules && !shape.is_dynamic) {
            return;
        }
        for id in 1..self.state.heap.ids.end() {
            if let Some(entry) = view.entry(EntryId(id)) {
                self.note_kind(id, entry.shape);
            }
        }
    }

    /// An entry is not what this shape says any more, from this batch on, but what `now` says, if it is there at all. Readers of older
    /// sequences still look for it.
    pub(crate) fn leave_kind(&mut self, id: u32, former: &Shape, now: Option<&Shape>) {
        if former.kind != Kind::Plain && now.map(|now| now.kind) != Some(former.kind) {
            self.later(Later::Kind { kind: former.kind, id });
        }
        if former.has_access_rules && !now.is_some_and(|now| now.has_access_rules) {
            self.leave_access_rules(id);
        }
        if former.is_dynamic && now.is_none() {
            self.later(Later::Dynamic(id));
        }
        if former.is_collective && !now.is_some_and(|now| now.is_collective) {
            self.later(Later::Collective(id));
        }
    }

    /// Forgets that an entry was of a kind, unless a version that a reader may see is. To be called when no reader is older than
    /// the batch in which the entry ceased to be one.
    pub(crate) fn forget_kind(&mut self, id: u32, kind: Kind, oldest: u64) {
        let (shard, view) = (self.shard, self.view());
        if let Some(set) = shard.kinds.of(kind)
            && !self.any_version(id, oldest, |_, entry| entry.shape.kind == kind)
        {
            set.remove(id, view, &mut self.state.garbage);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::ChangeKind;
    use crate::apply::tests::{add, change, delete};
    use crate::shard::reader::Reader;
    use crate::shard::tests::small_shard;

    #[test]
    fn texts_are_cut_between_rdns() {
        assert_eq!(first_rdns(b"a=1,b=2,c=3", 2), b"a=1,b=2");
        assert_eq!(first_rdns(b"a=1\\,x , b=2", 1), b"a=1\\,x ");
        assert_eq!((first_rdns(b"a=1,b=2", 0), first_rdns(b"a=1,b=2", 2)), (&b""[..], &b"a=1,b=2"[..]));
    }

    #[test]
    fn kinds_are_noted_and_forgotten() {
        let shard = small_shard();
        add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
        assert!(!shard.has_aliases() && !shard.has_referrals());
        let classes = ["alias", "extensibleObject"];
        add(&shard, "ou=a,dc=com", &[("objectClass", &classes), ("aliasedObjectName", &["dc=com"])]).unwrap();
        let classes = ["referral", "extensibleObject"];
        add(&shard, "ou=b,dc=com", &[("objectClass", &classes), ("ref", &["ldap://h"])]).unwrap();
        assert!(shard.has_aliases() && shard.has_referrals());
        change(&shard, "ou=b,dc=com", ChangeKind::Replace, "ref", &["ldap://g"]).unwrap();
        assert!(shard.has_referrals());
        delete(&shard, "ou=a,dc=com").unwrap();
        delete(&shard, "ou=b,dc=com").unwrap();
        shard.writer().publish();
        assert!(!shard.has_aliases() && !shard.has_referrals());
    }

    #[test]
    fn names_lead_through_aliases() {
        let shard = small_shard();
        let alias = |dn: &str, to: &str| {
            let classes = ["alias", "extensibleObject"];
            add(&shard, dn, &[("objectClass", &classes[..]), ("aliasedObjectName", &[to])]).unwrap()
        };
        add(&shard, "dc=com", &[("objectClass", &["domain"])]).unwrap();
        let unit = add(&shard, "ou=a,dc=com", &[("objectClass", &["organizationalUnit"])]).unwrap();
        let below = add(&shard, "ou=x,ou=a,dc=com", &[("objectClass", &["organizationalUnit"])]).unwrap();
        alias("ou=b,dc=com", "ou=a,dc=com");
        alias("ou=c,dc=com", "ou=b,dc=com");
        let nowhere = alias("ou=d,dc=com", "ou=none,dc=com");
        let one = alias("ou=e,dc=com", "ou=f,dc=com");
        alias("ou=f,dc=com", "ou=e,dc=com");
        let grows = alias("ou=g,dc=com", "ou=h,ou=g,dc=com");
        let mut reader = Reader::register(&shard).expect("a slot is free");
        let (pin, mut cache) = (reader.pin(), DnCache::default());
        let mut lead = |dn: &str| {
            pin.read_point().resolve_through(dn.as_bytes(), &mut cache, &mut |_| true).map(|(id, _)| id)
        };
        assert_eq!(lead("ou=a,dc=com"), Ok(unit));
        assert_eq!(lead("ou=c,dc=com"), Ok(unit));
        assert_eq!(lead("ou=x,ou=c,dc=com"), Ok(below));
        assert_eq!(
            lead("ou=y,ou=a,dc=com"),
            Err(AliasError::Unresolved(Unresolved::NoSuchObject(Some(unit))))
        );
        assert_eq!(lead("ou=d,dc=com"), Err(AliasError::Dangling(nowhere)));
        assert!(matches!(lead("ou=e,dc=com"), Err(AliasError::Loop(id)) if id == one || id != nowhere));
        assert!(matches!(lead("ou=g,dc=com"), Err(AliasError::Loop(id)) if id == grows));
    }
}
