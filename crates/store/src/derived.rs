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
    /// subschemaSubentry (RFC 4512 section 3.4.5).
    SubschemaSubentry,
    /// hasSubordinates (X.501).
    HasSubordinates,
    /// numSubordinates.
    NumSubordinates,
    /// contextCSN, as OpenLDAP writes it: of the topmost entry of a naming context, the last change of the whole shard.
    ContextCsn,
}

impl Derived {
    /// All of them, in the order in which `+` returns them.
    pub const ALL: [Derived; 12] = [
        Derived::EntryUuid,
        Derived::EntryDn,
        Derived::EntryCsn,
        Derived::CreateTimestamp,
        Derived::CreatorsName,
        Derived::ModifyTimestamp,
        Derived::ModifiersName,
        Derived::StructuralObjectClass,
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
            Derived::SubschemaSubentry => known.subschema_subentry,
            Derived::HasSubordinates => known.has_subordinates,
            Derived::NumSubordinates => known.num_subordinates,
            Derived::ContextCsn => known.context_csn,
        }
    }

    /// The derived attribute of this type, if it is one.
    pub fn of(attribute_type: TypeId, schema: &schema::Schema) -> Option<Derived> {
        Derived::ALL.into_iter().find(|d| d.attribute_type(schema) == attribute_type)
    }

    /// Does it follow from the entry at its read point? Only of such may an update assert something: else the outcome would depend on
    /// when it was prepared. What does not is returned only to those who name it.
    pub fn is_of_entry(self) -> bool {
        self != Derived::ContextCsn
    }

    /// Is it absent where operational attributes are switched off?
    pub fn is_switchable(self) -> bool {
        !matches!(
            self,
            Derived::EntryDn
                | Derived::StructuralObjectClass
                | Derived::SubschemaSubentry
                | Derived::HasSubordinates
                | Derived::NumSubordinates
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
