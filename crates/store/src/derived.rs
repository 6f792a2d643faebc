//! Operational attributes that are worked out when asked for: they take no memory. A value that an import brought
//! is stored like any other and wins.
//!
//! All but contextCSN follow from the record's stamps, the id, the name, the shape and the number of subordinates, so no index has
//! those that are not stored: a filter on one is decided on each candidate, but for entryUUID, which is computed backwards.

use crate::dn_cache::DnCache;
use crate::record::EntryRef;
use crate::shard::ReadPoint;
use model::csn::write_generalized_time;
use model::{Description, TypeId};

/// DN of the subschema subentry.
pub const SUBSCHEMA_DN: &str = "cn=Subschema";

/// A derived operational attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived {
    /// entryUUID (RFC 4530).
    EntryUuid,
    /// entryDN (RFC 5020).
    EntryDn,
    /// entryCSN, as OpenLDAP writes it.
    EntryCsn,
    /// createTimestamp (RFC 4512 section 3.4.2).
    CreateTimestamp,
    /// creatorsName.
    CreatorsName,
    /// modifyTimestamp.
    ModifyTimestamp,
    /// modifiersName.
    ModifiersName,
    /// structuralObjectClass (RFC 4512 section 3.4.6).
    StructuralObjectClass,
    /// governingStructureRule (RFC 4512 section 3.4.7), where the schema has structure rules.
    GoverningStructureRule,
    /// subschemaSubentry (RFC 4512 section 3.4.5).
    SubschemaSubentry,
    /// hasSubordinates (X.501).
    HasSubordinates,
    /// numSubordinates.
    NumSubordinates,
    /// contextCSN, as OpenLDAP writes it: of the topmost entry of a naming context, the last change of the whole shard that has a
    /// CSN. A delete has none.
    ContextCsn,
    /// entryTtl (RFC 2589), of dynamic entries alone.
    EntryTtl,
    /// entryUSN: the CSN of the last change as a number.
    EntryUsn,
}

impl Derived {
    /// Those that any entry may have, in the order in which `+` returns them. Behind them come those of [`Derived::optional`].
    pub const ALL: [Derived; 13] = [
        Derived::EntryUuid,
        Derived::EntryDn,
        Derived::EntryCsn,
        Derived::CreateTimestamp,
        Derived::CreatorsName,
        Derived::ModifyTimestamp,
        Derived::ModifiersName,
        Derived::StructuralObjectClass,
        Derived::GoverningStructureRule,
        Derived::SubschemaSubentry,
        Derived::HasSubordinates,
        Derived::NumSubordinates,
        Derived::ContextCsn,
    ];

    /// Its attribute type.
    pub fn attribute_type(self, schema: &schema::Schema) -> TypeId {
        let known = schema.well_known();
        match self {
            Derived::EntryUuid => known.entry_uuid,
            Derived::EntryDn => known.entry_dn,
            Derived::EntryCsn => known.entry_csn,
            Derived::CreateTimestamp => known.create_timestamp,
            Derived::CreatorsName => known.creators_name,
            Derived::ModifyTimestamp => known.modify_timestamp,
            Derived::ModifiersName => known.modifiers_name,
            Derived::StructuralObjectClass => known.structural_object_class,
            Derived::GoverningStructureRule => known.governing_structure_rule,
            Derived::SubschemaSubentry => known.subschema_subentry,
            Derived::HasSubordinates => known.has_subordinates,
            Derived::NumSubordinates => known.num_subordinates,
            Derived::ContextCsn => known.context_csn,
            Derived::EntryTtl => known.entry_ttl.expect("it is named only where the schema has it"),
            Derived::EntryUsn => known.entry_usn.expect("it is named only where the schema has it"),
        }
    }

    /// Those that entries have only where the schema has the server's own attributes.
    pub fn optional(schema: &schema::Schema) -> impl Iterator<Item = Derived> {
        let known = schema.well_known();
        let of_dynamic = known.entry_ttl.map(|_| Derived::EntryTtl);
        of_dynamic.into_iter().chain(known.entry_usn.map(|_| Derived::EntryUsn))
    }

    /// The derived attribute of this type, if it is one.
    pub fn of(attribute_type: TypeId, schema: &schema::Schema) -> Option<Derived> {
        let mut all = Derived::ALL.into_iter().chain(Derived::optional(schema));
        all.find(|d| d.attribute_type(schema) == attribute_type)
    }

    /// Does it follow from the entry at its read point? Only of such may an update assert something: else the outcome would depend on
    /// when it was prepared.
    pub fn is_of_entry(self) -> bool {
        !matches!(self, Derived::ContextCsn | Derived::EntryTtl)
    }

    /// Does a change of it change the entry? What does not is no part of what content synchronisation brings (RFC 4533 section 4.2), nor
    /// tested by it.
    pub fn is_synchronised(self) -> bool {
        !matches!(
            self,
            Derived::EntryDn
                | Derived::GoverningStructureRule
                | Derived::SubschemaSubentry
                | Derived::HasSubordinates
                | Derived::NumSubordinates
                | Derived::ContextCsn
                | Derived::EntryTtl
        )
    }

    /// Is it returned to those alone who name it?
    pub fn must_be_named(self) -> bool {
        matches!(self, Derived::ContextCsn | Derived::EntryUsn)
    }

    /// Have dynamic entries alone it?
    pub fn is_of_dynamic(self) -> bool {
        self == Derived::EntryTtl
    }

    /// Is it absent where operational attributes are switched off?
    pub fn is_switchable(self) -> bool {
        !matches!(
            self,
            Derived::EntryDn
                | Derived::StructuralObjectClass
                | Derived::GoverningStructureRule
                | Derived::SubschemaSubentry
                | Derived::HasSubordinates
                | Derived::NumSubordinates
                | Derived::EntryTtl
        )
    }
}

impl<'a> ReadPoint<'a> {
    /// Appends the value of a derived attribute; false if the entry has none. A stored value is not looked for.
    pub fn derive(self, entry: &EntryRef<'_>, what: Derived, cache: &mut DnCache, out: &mut Vec<u8>) -> bool {
        if what.is_switchable() && !self.shard.settings.operational_attributes {
            return false;
        }
        // An entry that was never changed was modified last when it was added, and by whom it was (RFC 4512, section 3.4).
        let stamps = entry.stamps();
        let (changed, modifier) = stamps.modified.unwrap_or((stamps.created, stamps.creator));
        match what {
            Derived::EntryUuid => crate::uuid::write(self.shard.uuids.of(entry.id, stamps.created), out),
            Derived::EntryDn => self.write_dn(entry, cache, out),
            Derived::EntryCsn => out.extend_from_slice(changed.to_string().as_bytes()),
            Derived::CreateTimestamp => write_generalized_time(stamps.created.unix_ms(), out),
            Derived::ModifyTimestamp => write_generalized_time(changed.unix_ms(), out),
            Derived::CreatorsName => out.extend_from_slice(self.name(stamps.creator)),
            Derived::ModifiersName => out.extend_from_slice(self.name(modifier)),
            Derived::StructuralObjectClass => match entry.shape.structural {
                Some(class) => out.extend_from_slice(self.shard.schema.class(class).name().as_bytes()),
                None => return false,
            },
            Derived::GoverningStructureRule => {
                let has_rules = self.shard.schema.has_structure_rules();
                match has_rules.then(|| self.governing_rule(entry)).flatten() {
                    Some(rule) => out.extend_from_slice(rule.to_string().as_bytes()),
                    None => return false,
                }
            }
            Derived::SubschemaSubentry => out.extend_from_slice(SUBSCHEMA_DN.as_bytes()),
            Derived::HasSubordinates => {
                out.extend_from_slice(if self.subordinates(entry.id) > 0 { b"TRUE" } else { b"FALSE" })
            }
            Derived::NumSubordinates => {
                out.extend_from_slice(self.subordinates(entry.id).to_string().as_bytes())
            }
            // Of now, and not of the read point: it is for those who watch how far a server is.
            Derived::ContextCsn if entry.parent().0 == 0 => {
                out.extend_from_slice(self.shard.last_csn().to_string().as_bytes());
            }
            Derived::ContextCsn => return false,
            // A change of the name alone has a CSN, too, but not one of the name of a superior.
            Derived::EntryUsn => out.extend_from_slice(changed.usn().to_string().as_bytes()),
            Derived::EntryTtl => match self.entry_ttl(entry) {
                Some(seconds) => out.extend_from_slice(seconds.to_string().as_bytes()),
                None => return false,
            },
        }
        true
    }

    /// Is a value for this attribute stored in the entry?
    pub fn has_stored(self, entry: &EntryRef<'_>, attribute_type: TypeId) -> bool {
        entry.shape.position(Description::plain(attribute_type)).is_some()
    }

    /// The DN that stamps call by this number, empty for an anonymous client.
    pub fn name(self, number: u32) -> &'a [u8] {
        self.shard.names.at(number as usize).map_or(b"", |name| name)
    }
}
