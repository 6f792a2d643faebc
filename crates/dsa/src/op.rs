//! The operations, one file each.

pub(crate) mod abandon;
pub(crate) mod add;
mod awaited_changes;
pub(crate) mod bind;
pub(crate) mod cancel;
pub(crate) mod chained;
pub(crate) mod compare;
pub(crate) mod configure;
pub(crate) mod delete;
pub(crate) mod extend_schema;
pub(crate) mod extended;
mod follow_references;
pub(crate) mod modify;
pub(crate) mod modify_dn;
pub(crate) mod own_password;
pub(crate) mod password_values;
mod relaxed;
pub(crate) mod search;
