//! Who a client is, and what follows from it: the root DN, users and their own passwords, entries that are no longer who they
//! were, secrets, names that stand in the directory.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "each test binary uses its part")]
#[path = "../transactions/fixture.rs"]
mod fixture;

mod certificates;
mod hashed;
mod kerberos;
mod lockout;
mod names;
mod one_time;
mod own_entry;
mod own_password;
mod policy;
mod quality;
mod renewal;
mod root_dn;
mod sasl;
mod scram;
mod secrets;
mod strength;
mod subentries;
mod tokens;
mod usability;
mod verified;

use common::journal::journaled_with;
use common::*;
use dsa::Config;
use model::ResultCode;

/// A client that may change every entry, but is not the root DN.
const TOOL: &str = "uid=tool,ou=people,dc=example";
const GRACE: &str = "uid=grace,ou=people,dc=example";

/// The tree of [`Client::new`] and the tool, whose password is `tool`, with a log and without; bound as the root DN.
fn each_with(config: &Config, test: impl Fn(Client)) {
    for is_logged in [false, true] {
        let mut client = match is_logged {
            true => journaled_with(config.clone()).0,
            false => Client::empty(config.clone()),
        };
        client.plant();
        let tool: Given<'_> =
            &[("objectClass", &["account", "simpleSecurityObject"]), ("userPassword", &["tool"])];
        client.must_add(TOOL, tool);
        test(client);
    }
}

/// The tool may change every entry.
fn with_tool() -> Config {
    chosen(config(), |c| c.standing.writers = vec![TOOL.to_owned()])
}

impl Client {
    fn must_bind(&mut self, dn: &str, password: &str) {
        let end = self.bind(dn, password);
        assert_eq!(end.code, ResultCode::Success, "{dn}: {}", end.text);
    }

    /// Another client of the same directory, bound.
    fn another_as(&self, dn: &str, password: &str) -> Client {
        let mut other = Client::of(&self.dsa);
        (other.commit, other.is_pooled) = (self.commit.clone(), self.is_pooled);
        other.must_bind(dn, password);
        other
    }

    fn binds(&self, dn: &str, password: &str) -> bool {
        let mut other = Client::of(&self.dsa);
        (other.commit, other.is_pooled) = (self.commit.clone(), self.is_pooled);
        other.at(self.now);
        other.bind(dn, password).code == ResultCode::Success
    }

    fn change_password(&mut self, user: Option<&str>, old: Option<&str>, new: &str) -> ResultCode {
        use proto::ext::password_modify::{OID, PasswordModify};
        let (user, old) = (user.map(str::as_bytes), old.map(str::as_bytes));
        let value = PasswordModify { user, old, new: Some(new.as_bytes()) }.encode();
        self.extended(OID, Some(&value)).code
    }

    fn change_password_in(&mut self, txn: &[u8], old: &str, new: &str) -> ResultCode {
        use proto::ext::password_modify::{OID, PasswordModify};
        let asked = PasswordModify { user: None, old: Some(old.as_bytes()), new: Some(new.as_bytes()) };
        let value = asked.encode();
        let request = proto::Request::Extended(proto::op::Extended { oid: OID, value: Some(&value) });
        let control = proto::control::transaction_specification::control(txn);
        self.ask(&request, &[control]).end.code
    }
}
