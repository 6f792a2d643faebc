//! A client that speaks of transactions, over a directory with a log and without.

pub(crate) use crate::common::journal::Log;
use crate::common::journal::journaled;
use crate::common::*;
use dsa::Applier;
use dsa::journal::Command;
use model::ResultCode;
use proto::Request;
use proto::control::{Control, transaction_specification};
use proto::ext::end_transaction::{EndTransaction, EndTransactionResult};
use proto::ext::{end_transaction, start_transaction};
use proto::list::Attributes;
use proto::op::modify::Changes;
use proto::op::{Add, Extended, Modify, ModifyDn, ModifyKind};

/// The tree of [`Client::new`], all of it through a log if asked for.
pub(crate) fn client(is_logged: bool) -> Client {
    if is_logged { logged().0 } else { Client::new() }
}

/// The same, and the log of it.
pub(crate) fn logged() -> (Client, Log) {
    let (mut client, log) = journaled();
    client.plant();
    (client, log)
}

/// A client of a directory that all commands of a log were applied on.
pub(crate) fn replayed(log: &Log) -> Client {
    let mut client = Client::empty(config());
    apply(&client, log);
    client.bind_root();
    client
}

/// Applies all commands of a log on the empty directory of a client, in which they come to the same answers.
pub(crate) fn apply(client: &Client, log: &Log) {
    let mut applier = Applier::new(&client.dsa).expect("there are few readers");
    applier.behave(dsa::behaviour::NEWEST);
    for (record, before) in &*log.lock().expect("nobody panicked") {
        let (command, mut again) = (Command::decode(record).expect("it was encoded"), Vec::new());
        applier.apply(&command, &mut again).expect("it was applied before");
        if !command.is_transaction {
            assert_eq!(answers(&again), answers(before));
        }
    }
}

/// With a log and without.
pub(crate) fn each(test: impl Fn(Client)) {
    [false, true].into_iter().for_each(|is_logged| test(client(is_logged)));
}

impl Client {
    /// Another client of the same directory, bound as the root DN.
    pub(crate) fn another(&self) -> Client {
        let mut other = Client::of(&self.dsa);
        (other.commit, other.is_pooled) = (self.commit.clone(), self.is_pooled);
        other.at(self.now);
        other.bind_root();
        other
    }

    pub(crate) fn start(&mut self) -> Vec<u8> {
        let end = self.extended(start_transaction::OID, None);
        assert_eq!((end.code, end.oid), (ResultCode::Success, None), "{}", end.text);
        end.value.expect("there is an identifier")
    }

    pub(crate) fn extended(&mut self, oid: &[u8], value: Option<&[u8]>) -> Outcome {
        self.end(&Request::Extended(Extended { oid, value }))
    }

    pub(crate) fn settle(&mut self, identifier: &[u8], commit: bool) -> Outcome {
        let value = EndTransaction { commit, identifier }.encode();
        self.extended(end_transaction::OID, Some(&value))
    }

    pub(crate) fn commit(&mut self, identifier: &[u8]) -> Outcome {
        self.settle(identifier, true)
    }

    pub(crate) fn modify_in(
        &mut self,
        identifier: &[u8],
        dn: &str,
        changes: &[(ModifyKind, &str, &[&str])],
    ) -> Outcome {
        self.modify_with(dn, changes, &[transaction_specification::control(identifier)]).end
    }

    pub(crate) fn add_in(&mut self, identifier: &[u8], dn: &str, attributes: Given<'_>) -> Outcome {
        let list = attributes_of(attributes);
        let attributes = Attributes::parse(&list).expect("just encoded");
        let add = Request::Add(Add { dn: dn.as_bytes(), attributes });
        self.ask(&add, &[transaction_specification::control(identifier)]).end
    }

    pub(crate) fn delete_in(&mut self, identifier: &[u8], dn: &str) -> Outcome {
        self.delete_with(dn, &[transaction_specification::control(identifier)]).end
    }

    pub(crate) fn rename_in(
        &mut self,
        identifier: &[u8],
        dn: &str,
        new_rdn: &str,
        new_superior: Option<&str>,
    ) -> Outcome {
        let request = ModifyDn {
            dn: dn.as_bytes(),
            new_rdn: new_rdn.as_bytes(),
            delete_old_rdn: true,
            new_superior: new_superior.map(str::as_bytes),
        };
        self.ask(&Request::ModifyDn(request), &[transaction_specification::control(identifier)]).end
    }

    /// A modify in bytes.
    pub(crate) fn modify_bytes(
        &mut self,
        dn: &str,
        changes: &[(ModifyKind, &str, &[&str])],
        controls: &[Control<'_>],
    ) -> Vec<u8> {
        let list = changes_of(changes);
        let changes = Changes::parse(&list).expect("just encoded");
        self.encode(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), controls).1
    }

    pub(crate) fn settle_bytes(&mut self, identifier: &[u8], commit: bool) -> Vec<u8> {
        let value = EndTransaction { commit, identifier }.encode();
        self.encode(&Request::Extended(Extended { oid: end_transaction::OID, value: Some(&value) }), &[]).1
    }

    pub(crate) fn value(&mut self, dn: &str, attribute: &str) -> Option<Vec<String>> {
        self.read(dn, &[attribute]).values(attribute)
    }
}

impl Outcome {
    pub(crate) fn culprit(&self) -> Option<i32> {
        let value = self.value.as_ref()?;
        EndTransactionResult::decode(value).expect("a value of the end").culprit
    }
}
