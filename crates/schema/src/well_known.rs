//! Attribute types and object classes that the server itself speaks of.

use crate::names::NameTable;
use model::{ClassId, TypeId};

macro_rules! well_known {
    (
        types { $($field:ident $name:literal,)* }
        shown { $($shown:ident $shown_name:literal,)* }
        classes { $($class:ident $class_name:literal,)* }
    ) => {
        /// Ids of types and classes that the built-in system schema always defines, and of types that the file of the server's own entries does.
        #[derive(Clone, Debug)]
        pub struct WellKnown {
            $(#[doc = $name] pub $field: TypeId,)*
            $(#[doc = $shown_name] pub $shown: Option<TypeId>,)*
            $(#[doc = $class_name] pub $class: ClassId,)*
        }

        impl WellKnown {
            /// Finds them all, or names the ones that are missing.
            pub(crate) fn find(types: &NameTable, classes: &NameTable) -> Result<WellKnown, Vec<&'static str>> {
                let missing: Vec<&'static str> = [$($name,)*].into_iter().filter(|n| types.find(n.as_bytes()).is_none())
                    .chain([$($class_name,)*].into_iter().filter(|n| classes.find(n.as_bytes()).is_none()))
                    .collect();
                if !missing.is_empty() {
                    return Err(missing);
                }
                let kind = |name: &str| TypeId(types.find(name.as_bytes()).expect("looked up above"));
                let class = |name: &str| ClassId(classes.find(name.as_bytes()).expect("looked up above"));
                let shown = |name: &str| types.find(name.as_bytes()).map(TypeId);
                Ok(WellKnown { $($field: kind($name),)* $($shown: shown($shown_name),)* $($class: class($class_name),)* })
            }
        }
    };
}

well_known! {
    types {
    object_class "objectClass",
    structural_object_class "structuralObjectClass",
    governing_structure_rule "governingStructureRule",
    administrative_role "administrativeRole",
    collective_exclusions "collectiveExclusions",
    collective_attribute_subentries "collectiveAttributeSubentries",
    subschema_subentry "subschemaSubentry",
    create_timestamp "createTimestamp",
    modify_timestamp "modifyTimestamp",
    creators_name "creatorsName",
    modifiers_name "modifiersName",
    entry_uuid "entryUUID",
    entry_dn "entryDN",
    entry_csn "entryCSN",
    context_csn "contextCSN",
    has_subordinates "hasSubordinates",
    num_subordinates "numSubordinates",
    user_password "userPassword",
    access_rule "pandoAccess",
    member "member",
    cn "cn",
    dc "dc",
    uid "uid",
    reference "ref",
    aliased_object_name "aliasedObjectName",
    naming_contexts "namingContexts",
    alt_server "altServer",
    supported_ldap_version "supportedLDAPVersion",
    supported_control "supportedControl",
    supported_extension "supportedExtension",
    supported_features "supportedFeatures",
    supported_sasl_mechanisms "supportedSASLMechanisms",
    vendor_name "vendorName",
    vendor_version "vendorVersion",
    object_classes "objectClasses",
    attribute_types "attributeTypes",
    matching_rules "matchingRules",
    matching_rule_use "matchingRuleUse",
    ldap_syntaxes "ldapSyntaxes",
    }
    shown {
    entry_ttl "entryTtl",
    entry_usn "entryUSN",
    }
    classes {
    top "top",
    extensible_object "extensibleObject",
    alias "alias",
    referral "referral",
    subentry "subentry",
    collective_attribute_subentry "collectiveAttributeSubentry",
    subschema "subschema",
    }
}
