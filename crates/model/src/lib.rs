//! RFC 4512 values that every layer speaks of: DN, attribute description, entry, filter, scope, result code,
//! CSN, ids and limits. No IO, no async, no clock.

pub mod attribute;
pub mod calendar;
pub mod csn;
pub mod decimal;
pub mod dn;
pub mod entry;
pub mod filter;
pub mod hex;
pub mod ids;
pub mod limits;
pub mod oid;
pub mod percent;
pub mod quantity;
pub mod result_code;
pub mod scope;
pub mod short;
pub mod timestamp;

pub use attribute::Description;
pub use csn::Csn;
pub use decimal::decimal;
pub use entry::Entry;
pub use filter::Filter;
pub use ids::{ClassId, EntryId, OptionsId, TypeId};
pub use result_code::ResultCode;
pub use scope::{DerefAliases, Scope};
pub use timestamp::{parse_timestamp, put_timestamp, read_generalized_time, timestamp};
