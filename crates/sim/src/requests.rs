//! What a client sends in one go, and which answers it expects.

use dsa::SUBSCHEMA_DN;
use model::{Filter, Scope};
use proto::Request;
use proto::control::{Control, assertion, transaction_specification};
use proto::ext::end_transaction::{self, EndTransaction};
use proto::ext::start_transaction;
use proto::filter_string::{self, FilterBuf};
use proto::list::{Attributes, Octets, attribute_list, octet_list};
use proto::op::extended::Extended;
use proto::op::modify::{Changes, change_list};
use proto::op::{Add, Authentication, Bind, Modify, ModifyDn, ModifyKind, Search};

/// DN of the root of the tree that simulated directories have.
pub const SUFFIX: &str = "dc=x";
/// What the counter of a session is in. No index knows it: a modify that sets it can be prepared before it has its turn.
pub const COUNTER: &str = "serialNumber";
/// Where settings of the directory are changed.
pub const CONFIG: &str = "cn=config";
/// Whom clients bind as, and by which password.
pub const ROOT: &str = "cn=root";
/// See [`ROOT`].
pub const PASSWORD: &str = "secret";
/// The attribute that says since when an account is locked.
pub const LOCKED: &str = "pwdAccountLockedTime";
/// Wrong passwords that lock an account.
pub const FAILURES_MAX: u32 = 2;

/// A request that was sent, as far as the one that looks at the answers wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// An entry is added.
    Add(String),
    /// An entry is removed, or gets another name: the old one is gone.
    Remove(String),
    /// The sender's counter is set.
    Count(u64),
    /// The counter of a session is read.
    ReadCount(usize),
    /// The sender's counter is read, behind the update that sets it to this.
    ReadOwn(u64),
    /// All entries are read.
    ReadAll,
    /// The entries that a workload is about are read, all at once.
    Scan,
    /// The session begins anew.
    Bind,
    /// The account with this name is tried with a wrong password.
    WrongBind(String),
    /// The account with this name gets the policy that locks it after [`FAILURES_MAX`] wrong ones.
    Govern(String),
    /// The lock of the account with this name is taken away.
    Unlock(String),
    /// A transaction begins.
    Begin,
    /// An update in a transaction.
    Member,
    /// A transaction is to be committed.
    Commit,
    /// Something of which only the result matters.
    Other,
}

/// What an update is about.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Names of the entries, of a modifyDN the new one too. None of other requests.
    pub names: Vec<String>,
    /// Does it belong to a transaction?
    pub is_member: bool,
}

/// Requests that are sent together: those that are updates and follow each other become durable together.
#[derive(Debug, Default)]
pub struct Bundle {
    /// The messages.
    pub bytes: Vec<u8>,
    /// What they are: the first has the message id 1.
    pub sent: Vec<Sent>,
    /// What each of them is about.
    pub about: Vec<About>,
    /// The messages that are updates, whatever searches stand between them: what comes into the log.
    pub updates: Vec<u8>,
    /// The same of updates before a bind or a change of the schema: these part what comes into the log together.
    pub before_parts: Vec<Vec<u8>>,
    /// The transaction to which updates belong that are added from now on.
    pub transaction: Option<Vec<u8>>,
    /// What comes into the log of those that belong to it.
    pub members: Vec<u8>,
    /// The next update happens only if this filter is true of its entry.
    pub only_if: Option<String>,
    /// Other controls of the next update.
    pub with: Vec<Control<'static>>,
}

impl Bundle {
    fn push(&mut self, request: &Request<'_>, sent: Sent) {
        let begin = self.bytes.len();
        self.sent.push(sent);
        self.about.push(About { names: names(request), is_member: self.transaction.is_some() });
        let id = self.sent.len() as i32;
        if matches!(request, Request::Bind(_) | Request::Search(_) | Request::Extended(_)) {
            return request.encode(&mut self.bytes, id, &[]);
        }
        let filter = self.only_if.take().map(|filter| assertion::encode(&parsed(&filter).filter()));
        let assertion = filter.as_deref().map(|value| assertion::control(value, true));
        let membership = self.transaction.as_deref().map(transaction_specification::control);
        let others = std::mem::take(&mut self.with);
        let controls: Vec<Control<'_>> = membership.into_iter().chain(assertion).chain(others).collect();
        request.encode(&mut self.bytes, id, &controls);
        let is_schema = matches!(request, Request::Modify(modify) if modify.dn == SUBSCHEMA_DN.as_bytes());
        let is_settings = matches!(request, Request::Modify(modify) if modify.dn == CONFIG.as_bytes());
        match (&self.transaction, assertion) {
            // It comes into the log by itself.
            (None, _) if is_schema => {
                self.part();
                self.before_parts.push(self.bytes[begin..].to_vec());
            }
            // It is no update of the directory.
            (None, _) if is_settings => self.part(),
            (None, _) => self.updates.extend_from_slice(&self.bytes[begin..]),
            // What says nothing more than which transaction it belongs to is logged without.
            (Some(_), None) => request.encode(&mut self.members, id, &[]),
            (Some(_), Some(_)) => self.members.extend_from_slice(&self.bytes[begin..]),
        }
    }

    /// What comes into the log together, of updates that belong to no transaction.
    pub fn logged_together(&self) -> impl Iterator<Item = &[u8]> {
        self.before_parts.iter().chain([&self.updates]).map(Vec::as_slice)
    }

    /// Begins a transaction.
    pub fn begin(&mut self) {
        self.push(&Request::Extended(Extended { oid: start_transaction::OID, value: None }), Sent::Begin);
    }

    /// Ends a transaction.
    pub fn end(&mut self, identifier: &[u8], commit: bool) {
        let value = EndTransaction { commit, identifier }.encode();
        let end = Extended { oid: end_transaction::OID, value: Some(&value) };
        self.push(&Request::Extended(end), if commit { Sent::Commit } else { Sent::Other });
    }

    /// What comes does not come into the log together with what was added before.
    fn part(&mut self) {
        if !self.updates.is_empty() {
            self.before_parts.push(std::mem::take(&mut self.updates));
        }
    }

    /// Adds definitions to the schema.
    pub fn define(&mut self, types: &[&str], classes: &[&str]) {
        self.change_schema(ModifyKind::Add, types, classes);
    }

    /// Removes definitions from the schema, if no entry uses them.
    pub fn undefine(&mut self, types: &[&str], classes: &[&str]) {
        self.change_schema(ModifyKind::Delete, types, classes);
    }

    fn change_schema(&mut self, kind: ModifyKind, types: &[&str], classes: &[&str]) {
        let list = change_list(
            [("attributeTypes", types), ("objectClasses", classes)]
                .map(|(name, values)| (kind, name.as_bytes(), values.iter().map(|v| v.as_bytes()))),
        );
        let changes = Changes::parse(&list).expect("just encoded");
        self.push(&Request::Modify(Modify { dn: SUBSCHEMA_DN.as_bytes(), changes }), Sent::Other);
    }

    /// Binds as [`ROOT`].
    pub fn bind(&mut self) {
        self.bind_as(ROOT, PASSWORD, Sent::Bind);
    }

    /// Binds with a name and a password.
    pub fn bind_as(&mut self, name: &str, password: &str, sent: Sent) {
        self.part();
        let authentication = Authentication::Simple(password.as_bytes());
        self.push(&Request::Bind(Bind { version: 3, name: name.as_bytes(), authentication }), sent);
    }

    /// Adds an entry. What `sent` says is up to the caller: whether the name comes only once.
    pub fn add(&mut self, dn: &str, attributes: &[(&str, &str)], sent: Sent) {
        // An attribute whose values follow each other comes once.
        let all = attributes.chunk_by(|(one, _), (other, _)| one == other);
        let list = attribute_list(
            all.map(|values| (values[0].0.as_bytes(), values.iter().map(|(_, value)| value.as_bytes()))),
        );
        let attributes = Attributes::parse(&list).expect("just encoded");
        self.push(&Request::Add(Add { dn: dn.as_bytes(), attributes }), sent);
    }

    /// Deletes an entry.
    pub fn delete(&mut self, dn: &str, sent: Sent) {
        self.push(&Request::Delete(dn.as_bytes()), sent);
    }

    /// Changes values of one attribute.
    pub fn modify(&mut self, dn: &str, kind: ModifyKind, attribute: &str, values: &[&str], sent: Sent) {
        let list = change_list([(kind, attribute.as_bytes(), values.iter().map(|v| v.as_bytes()))]);
        let changes = Changes::parse(&list).expect("just encoded");
        self.push(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), sent);
    }

    /// Gives attributes other values, one each. Without a value an attribute is taken away.
    pub fn replace(&mut self, dn: &str, values: &[(&str, Option<&str>)], sent: Sent) {
        let changes = values.iter().map(|(attribute, value)| {
            (ModifyKind::Replace, attribute.as_bytes(), value.iter().map(|value| value.as_bytes()))
        });
        let list = change_list(changes);
        let changes = Changes::parse(&list).expect("just encoded");
        self.push(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), sent);
    }

    /// Gives an entry another RDN, and the entries below it a new superior.
    pub fn rename(&mut self, dn: &str, rdn: &str, sent: Sent) {
        let (dn, new_rdn) = (dn.as_bytes(), rdn.as_bytes());
        self.push(
            &Request::ModifyDn(ModifyDn { dn, new_rdn, delete_old_rdn: true, new_superior: None }),
            sent,
        );
    }

    /// Searches; `attributes` are returned.
    pub fn search(&mut self, base: &str, scope: Scope, filter: &str, attributes: &[&str], sent: Sent) {
        let filter = parsed(filter);
        let selection = octet_list(attributes.iter().map(|name| name.as_bytes()));
        let filter: Filter<'_> = filter.filter();
        let search = Search::unlimited(
            base.as_bytes(),
            scope,
            filter,
            Octets::parse(&selection).expect("just encoded"),
        );
        self.push(&Request::Search(search), sent);
    }

    /// Reads all entries.
    pub fn read_all(&mut self) {
        self.search(SUFFIX, Scope::Subtree, "(objectClass=*)", &["*", LOCKED], Sent::ReadAll);
    }

    /// Reads the counter of a session.
    pub fn read_counter(&mut self, session: usize) {
        let sent = Sent::ReadCount(session);
        self.search(&counter_dn(session), Scope::Base, "(objectClass=*)", &[COUNTER], sent);
    }

    /// Reads the counter of the sender, which the last update of it before was to set to `count`.
    pub fn read_own(&mut self, session: usize, count: u64) {
        let sent = Sent::ReadOwn(count);
        self.search(&counter_dn(session), Scope::Base, "(objectClass=*)", &[COUNTER], sent);
    }

    /// Sets the sender's counter.
    pub fn count(&mut self, session: usize, to: u64, sent: Sent) {
        let (dn, text) = (counter_dn(session), to.to_string());
        self.modify(&dn, ModifyKind::Replace, COUNTER, &[&text], sent);
    }
}

fn names(request: &Request<'_>) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match request {
        Request::Add(add) => vec![text(add.dn)],
        Request::Modify(modify) => vec![text(modify.dn)],
        Request::Delete(dn) => vec![text(dn)],
        Request::ModifyDn(modify_dn) => {
            let old = text(modify_dn.dn);
            let superior = old.split_once(',').map_or("", |(_, superior)| superior);
            let new = format!("{},{superior}", text(modify_dn.new_rdn));
            vec![old, new]
        }
        _ => Vec::new(),
    }
}

fn parsed(filter: &str) -> FilterBuf {
    filter_string::parse(filter.as_bytes()).expect("filters of workloads are sound")
}

/// The entry that counts the bundles of a session.
pub fn counter_dn(session: usize) -> String {
    format!("cn=s{session},{SUFFIX}")
}
