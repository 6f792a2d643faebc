//! One file per operation, both ends of it: the server decodes requests and encodes responses, a client the
//! other way round. `decode` gets the contents of the protocolOp; `encode` appends the whole protocolOp.

pub mod abandon;
pub mod add;
pub mod bind;
pub mod compare;
pub mod delete;
pub mod extended;
pub mod given;
pub mod intermediate;
pub mod modify;
pub mod modify_dn;
pub mod search;
pub mod unbind;

pub use add::Add;
pub use bind::{Authentication, Bind, BindResponse};
pub use compare::Compare;
pub use extended::{Extended, ExtendedResponse};
pub use intermediate::Intermediate;
pub use modify::{Change, Changes, Modify, ModifyKind};
pub use modify_dn::ModifyDn;
pub use search::{Search, SearchEntry};
