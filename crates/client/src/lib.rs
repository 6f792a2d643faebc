//! A client of an LDAP server that runs: one connection, and questions and changes that need no more than that.

mod channel;
mod error;
mod follow;
mod indexes;
mod kept;
mod link;
mod monitor;
mod pages;
mod server;
mod settings;
mod trust;
mod values;

pub use error::ClientError;
pub use follow::{Asking, Followed, Part, Target, TargetCounts, follow};
pub use indexes::{IndexLine, Indexes};
pub use kept::LinkCounts;
pub use link::{Link, refusal};
pub use monitor::durability;
pub use pages::{Page, Pages};
pub use server::{Security, Server};
pub use settings::{SettingStep, Settings};
pub use trust::Trust;
pub use values::{Attributes, EVERYTHING, entry, values};
