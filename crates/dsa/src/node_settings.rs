//! Settings of this server alone, as far as they can be changed while it runs. They are in `cn=config` beside those of the directory.
//!
//! The agent has no part in what they mean. It works out the values that a modify asks for, and the one who has the settings checks, records and
//! uses them: no log has them, and no other server.
//!
//! Why it is so: `docs/decisions/0116-settings-of-a-node.md`.

use crate::settings::Author;
use model::ResultCode;

/// A setting of this server that can be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeKey {
    /// Name in the configuration file.
    pub name: &'static str,
    /// The attribute of `cn=config`.
    pub attribute: String,
    /// May it have several values?
    pub is_many: bool,
}

/// What a request asks of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChange {
    /// Its place in [`NodeSettings::keys`].
    pub key: usize,
    /// The values that it was made of.
    pub before: Vec<String>,
    /// The values that it is to have; none: those of file and flags.
    pub after: Vec<String>,
}

/// The one who has the settings of this server.
pub trait NodeSettings: Send + Sync {
    /// Those that can be changed.
    fn keys(&self) -> &[NodeKey];

    /// The values in force of all of them, in the same order.
    fn values(&self) -> Vec<Vec<String>>;

    /// A value of a key as it would be shown. One that is bad stays as it is, and is refused later.
    fn shown(&self, key: usize, value: String) -> String;

    /// The last changes, the oldest first: a line of JSON for each key.
    fn history(&self) -> Vec<String>;

    /// Changes settings, all or none; durable and in force when it returns. One that is only checked changes nothing.
    ///
    /// # Errors
    /// Code and text of the refusal. Nothing is changed then.
    fn change(
        &self,
        author: Author<'_>,
        asked: &[KeyChange],
        is_checked_only: bool,
    ) -> Result<(), (ResultCode, String)>;
}
