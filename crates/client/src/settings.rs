//! The settings of a server that runs: the attributes of `cn=config`.

use crate::error::ClientError;
use crate::link::{Link, refusal};
use crate::server::Server;
use crate::values::{Attributes, entry};
use proto::control::no_op;
use proto::message::Request;
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};

const CONFIG: &[u8] = b"cn=config";
/// What was changed of settings of the server alone.
const NODE: &[u8] = b"cn=node,cn=config";

/// A connection to a server whose settings are looked at or changed.
pub struct Settings {
    link: Link,
}

/// One step of a change: what is done with values of an attribute of `cn=config`. Values are in the form of the configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingStep {
    kind: ModifyKind,
    attribute: String,
    values: Vec<String>,
}

impl SettingStep {
    /// Adds values to those that hold.
    pub fn add(attribute: String, values: Vec<String>) -> SettingStep {
        SettingStep { kind: ModifyKind::Add, attribute, values }
    }

    /// Deletes values; without one all of them, so that file and flags of the server count again.
    pub fn delete(attribute: String, values: Vec<String>) -> SettingStep {
        SettingStep { kind: ModifyKind::Delete, attribute, values }
    }

    /// Replaces all values.
    pub fn replace(attribute: String, values: Vec<String>) -> SettingStep {
        SettingStep { kind: ModifyKind::Replace, attribute, values }
    }
}

impl Settings {
    /// Connects and binds.
    ///
    /// # Errors
    /// What the network or the server says.
    pub fn open(server: &Server) -> Result<Settings, ClientError> {
        Ok(Settings { link: Link::open(server)? })
    }

    /// All attributes of `cn=config`; `None` if the client may not know of it.
    ///
    /// # Errors
    /// As [`Settings::open`].
    pub fn read(&mut self) -> Result<Option<Attributes>, ClientError> {
        entry(&mut self.link, CONFIG)
    }

    /// All attributes of the entry with the changes of settings of the server alone; `None` if the client may not know of it, or the server has none.
    ///
    /// # Errors
    /// As [`Settings::open`].
    pub fn read_node(&mut self) -> Result<Option<Attributes>, ClientError> {
        entry(&mut self.link, NODE)
    }

    /// Makes a change, all steps in one request. One that is only checked changes nothing, and is refused as the change would be.
    ///
    /// # Errors
    /// As [`Settings::open`]; then nothing is changed.
    pub fn change(&mut self, steps: &[SettingStep], is_checked_only: bool) -> Result<(), ClientError> {
        let list =
            change_list(steps.iter().map(|step| {
                (step.kind, step.attribute.as_bytes(), step.values.iter().map(String::as_bytes))
            }));
        let changes = Changes::parse(&list).map_err(|_| ClientError::Malformed("nothing"))?;
        let request = Request::Modify(Modify { dn: CONFIG, changes });
        let control = [no_op::control(true)];
        let controls = if is_checked_only { &control[..] } else { &[] };
        self.link.push(|out, id| request.encode(out, id, controls));
        let answer =
            self.link.receive(|reply| reply.result().map(|result| (result.code, refusal(&result))))?;
        match answer.ok_or(ClientError::Malformed("no answer to a modify"))? {
            // A server that ignored the control has made the change.
            (_, None) if is_checked_only => {
                Err(ClientError::Malformed("success, where a change was to be checked only"))
            }
            (_, None) => Ok(()),
            (no_op::NO_OPERATION, _) if is_checked_only => Ok(()),
            (_, Some(why)) => Err(ClientError::Refused(why)),
        }
    }
}
