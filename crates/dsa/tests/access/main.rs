//! Access rules, asked by clients: what each right lets them do, whom rules are for, and that what is hidden is as if it were absent. Each test
//! runs with a log and without.

#[path = "../common/mod.rs"]
mod common;

mod attacks;
mod brought;
mod chained;
mod change_log;
mod collective;
mod conditions;
mod contents;
mod disclosure;
mod effective_rights;
mod followed;
mod groups;
mod guesses;
mod limits;
mod memberships;
mod of_entries;
mod operations;
mod places;
mod referred;
mod values;

use common::journal::journaled_with;
use common::*;
use dsa::Config;
use model::ResultCode;
use proto::control::Control;
use proto::control::paged_results;

const GRACE: &str = "uid=grace,ou=people,dc=example";
const BOB: &str = "uid=bob,ou=people,dc=example";

/// The configuration with these rules.
fn ruled(rules: &[&str]) -> Config {
    let mut config = config();
    let texts: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
    config.settings.configured.access.rules = access::parse_all(&texts).expect("the rules are sound");
    config
}

/// As [`ruled`], without the built-in rules but those that let users bind and see their own entry.
fn bare(rules: &[&str]) -> Config {
    let log_in = "log-in: all attrs=userPassword; anyone; allow=auth";
    let mut config = ruled(&[&[log_in][..], rules].concat());
    config.settings.configured.access.defaults = false;
    config
}

/// The tree of [`Client::new`] and bob, whose password is `tail`; the client is bound as the root DN.
fn each(config: &Config, test: impl Fn(Client)) {
    for is_logged in [false, true] {
        let mut client = match is_logged {
            true => journaled_with(config.clone()).0,
            false => Client::empty(config.clone()),
        };
        client.plant();
        let bob: Given<'_> = &[
            ("objectClass", &["inetOrgPerson"]),
            ("cn", &["Bob Tail"]),
            ("sn", &["Tail"]),
            ("mail", &["bob@example.com"]),
            ("userPassword", &["tail"]),
        ];
        client.must_add(BOB, bob);
        test(client);
    }
}

/// The tree with these rules besides those that are built in; the client is ada.
fn as_ada(rules: &[&str], test: impl Fn(Client)) {
    each(&ruled(rules), |mut client| {
        client.must_bind(ADA, "lace");
        test(client);
    });
}

impl Client {
    fn must_bind(&mut self, dn: &str, password: &str) {
        let end = self.bind(dn, password);
        assert_eq!(end.code, ResultCode::Success, "{dn}: {}", end.text);
    }

    /// Another client of the same directory.
    fn another(&self) -> Client {
        let mut other = Client::of(&self.dsa);
        other.commit = self.commit.clone();
        other
    }

    /// The root DN beside a client whose session stays open.
    fn root(&self) -> Client {
        let mut root = self.another();
        root.bind_root();
        root
    }

    fn extended(&mut self, oid: &[u8], value: Option<&[u8]>) -> Outcome {
        self.ask(&proto::Request::Extended(proto::op::Extended { oid, value }), &[]).end
    }

    fn must_modify(&mut self, dn: &str, changes: &[(proto::op::ModifyKind, &str, &[&str])]) {
        let end = self.modify(dn, changes);
        assert_eq!(end.code, ResultCode::Success, "{dn}: {}", end.text);
    }
}
