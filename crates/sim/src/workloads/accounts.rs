//! Policy on: accounts that wrong passwords lock (row Y5), and users who write entries by a right that hangs on what these hold (row A13).
//!
//! An entry is *open* or *closed*, which the root DN says. It says so together with a description of its own, and users may write that of
//! open entries. So the description of a closed one is never a user's, whatever was on its way when it was closed.

use crate::random::Random;
use crate::requests::{Bundle, FAILURES_MAX, LOCKED, SUFFIX, Sent};
use crate::view::View;
use crate::workload::Workload;

/// The policy of accounts.
const POLICY: &str = "cn=policy,dc=x";
/// The password of all, and how it is stored.
const WORD: &str = "word";
const STORED: &str = "{SSHA}G9DVs7S5fPqjdsdKTHKulYaExPBzaW11bGF0ZQ==";
/// Entries that are open or closed.
const DOCUMENTS: u64 = 2;

/// See the module.
#[derive(Debug)]
pub(super) struct Accounts {
    /// Of each session: accounts that it has made. The last may be locked, and those before it stay as they are.
    made: Vec<u64>,
    /// Wrong passwords of the last.
    tried: Vec<u32>,
    /// Descriptions given so far.
    texts: u64,
}

fn account(session: usize, number: u64) -> String {
    format!("cn=a{session}-{number},{SUFFIX}")
}

fn writer(session: usize) -> String {
    format!("cn=w{session},{SUFFIX}")
}

fn document(number: u64) -> String {
    format!("cn=d{number},{SUFFIX}")
}

fn add_person(dn: &str, sent: Sent, to: &mut Bundle) {
    let cn = dn.trim_start_matches("cn=").split(',').next().unwrap_or_default();
    let person = [("objectClass", "person"), ("cn", cn), ("sn", "x"), ("userPassword", STORED)];
    to.add(dn, &person, sent);
}

impl Accounts {
    pub(super) fn new(sessions: usize) -> Accounts {
        Accounts { made: vec![0; sessions], tried: vec![0; sessions], texts: 0 }
    }

    /// Users write, or try to. A bind parts what comes into the log together, so each write is by itself.
    fn write(&mut self, session: usize, random: &mut Random, to: &mut Bundle) {
        self.texts += 1;
        let text = format!("user {}", self.texts);
        to.bind_as(&writer(session), WORD, Sent::Bind);
        let document = document(random.below(DOCUMENTS));
        to.replace(&document, &[("description", Some(&text))], Sent::Other);
        to.bind();
    }

    fn open_or_close(&mut self, random: &mut Random, to: &mut Bundle) {
        self.texts += 1;
        let text = format!("root {}", self.texts);
        let state = if random.chance(500) { "open" } else { "closed" };
        let values = [("l", Some(state)), ("description", Some(&*text))];
        to.replace(&document(random.below(DOCUMENTS)), &values, Sent::Other);
    }

    fn make(&mut self, session: usize, to: &mut Bundle) {
        self.made[session] += 1;
        self.tried[session] = 0;
        let dn = account(session, self.made[session]);
        add_person(&dn, Sent::Add(dn.clone()), to);
        to.replace(&dn, &[("pwdPolicySubentry", Some(POLICY))], Sent::Govern(dn.clone()));
    }

    /// Few of each account: after ten failures in a minute the server looks at none for a while.
    fn fail(&mut self, session: usize, to: &mut Bundle) {
        self.tried[session] += 1;
        let dn = account(session, self.made[session]);
        to.bind_as(&dn, "another", Sent::WrongBind(dn.clone()));
        to.bind();
    }
}

impl Workload for Accounts {
    fn setup(&mut self, to: &mut Bundle) {
        let failures_max = FAILURES_MAX.to_string();
        let policy = [
            ("objectClass", "device"),
            ("objectClass", "pwdPolicy"),
            ("cn", "policy"),
            ("pwdAttribute", "userPassword"),
            ("pwdLockout", "TRUE"),
            ("pwdMaxFailure", &*failures_max),
        ];
        to.add(POLICY, &policy, Sent::Other);
        (0..self.made.len()).for_each(|session| add_person(&writer(session), Sent::Other, to));
        for number in 0..DOCUMENTS {
            let cn = format!("d{number}");
            let device = [("objectClass", "device"), ("cn", &*cn), ("l", "open"), ("description", "root")];
            to.add(&document(number), &device, Sent::Other);
        }
    }

    fn start(&mut self, session: usize, random: &mut Random, to: &mut Bundle) {
        match random.below(8) {
            0..=2 => self.write(session, random, to),
            3 | 4 => self.open_or_close(random, to),
            _ if self.made[session] == 0 || self.tried[session] > 3 * FAILURES_MAX => self.make(session, to),
            5 | 6 => self.fail(session, to),
            _ => {
                let dn = account(session, self.made[session]);
                to.replace(&dn, &[(LOCKED, None)], Sent::Unlock(dn.clone()));
            }
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        for number in 0..DOCUMENTS {
            let Some(entry) = view.entries.get(&document(number)) else { continue };
            let value = |name: &str| entry.get(name).and_then(|values| values.first()).map(String::as_str);
            let (state, text) = (value("l"), value("description").unwrap_or_default());
            if state == Some("closed") && !text.starts_with("root") {
                return Err(format!("document {number} is closed, and a user has written {text:?}"));
            }
        }
        Ok(())
    }
}
