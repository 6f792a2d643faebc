//! What the clients know: what they sent, which answers they got, what they read. It outlives the server.

use crate::answers::{Answer, Attributes, is_refusal};
use crate::properties;
use crate::requests::{Bundle, COUNTER, FAILURES_MAX, Sent};
use model::ResultCode;
use std::collections::{BTreeMap, BTreeSet};

/// Entries that were read at once.
pub type Scan = BTreeMap<String, Attributes>;

/// A property that does not hold, and in words, why.
pub type Broken = (&'static str, String);

/// A transaction that a client has open.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// What the server calls it.
    pub identifier: Vec<u8>,
    /// What comes into the log when it is committed; empty as long as none of it was sent.
    pub members: Vec<u8>,
    /// The client's counter, as it sets it.
    pub count: u64,
    /// Can it not be committed any more?
    pub is_over: bool,
}

impl Transaction {
    fn new(identifier: Vec<u8>) -> Transaction {
        Transaction { identifier, members: Vec::new(), count: 0, is_over: false }
    }
}

/// All clients.
#[derive(Debug)]
pub struct Clients {
    all: Vec<Client>,
}

/// A client.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// What is on its way.
    unanswered: Vec<Sent>,
    /// Its counter, as it was sent last.
    pub counted: u64,
    /// Its counter when an answer said that it was set: by the last record that was applied then.
    pub acknowledged: BTreeMap<u64, u64>,
    /// Names of entries that an answer said are there, and which nobody has tried to remove; with that record.
    pub present: BTreeMap<String, u64>,
    /// Names of entries that an answer said are gone, and which never come again; with that record.
    pub gone: BTreeMap<String, u64>,
    /// What its counter was set to in transactions that were not committed.
    pub void: BTreeSet<u64>,
    /// The highest counter of each session that it has read.
    pub read: BTreeMap<usize, u64>,
    /// Accounts that an answer said are locked after [`FAILURES_MAX`] wrong passwords; with that record.
    pub governed: BTreeMap<String, u64>,
    /// Wrong passwords of each account that were answered by this incarnation.
    failures: BTreeMap<String, u32>,
    /// Accounts that are locked by the answers to these, and that nobody has tried to unlock; with that record.
    pub locked: BTreeMap<String, u64>,
    /// The transaction that it has open.
    pub transaction: Option<Transaction>,
    /// What it knows of the entries that its workload is about: by its last scan.
    pub scanned: Scan,
    /// The scan that is on its way, and those that nobody has looked at yet.
    scanning: Scan,
    scans: Vec<Scan>,
    /// Transactions that were committed, and those that were not.
    pub transactions: (u64, u64),
    /// Answers that it got, and how many of them refused something.
    pub answered: u64,
    /// See `answered`.
    pub refused: u64,
    /// Updates that a constraint, or another bound of values, did not allow.
    pub violated: u64,
}

impl Clients {
    /// So many clients that know nothing yet.
    pub fn new(count: usize) -> Clients {
        Clients { all: vec![Client::default(); count] }
    }

    /// Each client and its number.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Client)> {
        self.all.iter().enumerate()
    }

    /// The client with a number.
    pub fn client(&self, session: usize) -> &Client {
        &self.all[session]
    }

    /// The client with a number, to be changed.
    pub fn client_mut(&mut self, session: usize) -> &mut Client {
        &mut self.all[session]
    }

    /// Adds the operation that ends every bundle of updates: the client's counter, one higher.
    pub fn count(&mut self, session: usize, bundle: &mut Bundle) {
        self.all[session].counted += 1;
        let to = self.all[session].counted;
        bundle.count(session, to, Sent::Count(to));
    }

    /// A client sends a bundle.
    pub fn on_sent(&mut self, session: usize, bundle: &Bundle) {
        let removed: BTreeSet<&String> = bundle
            .sent
            .iter()
            .filter_map(|sent| if let Sent::Remove(dn) = sent { Some(dn) } else { None })
            .collect();
        for client in &mut self.all {
            client.present.retain(|dn, _| !removed.iter().any(|gone| is_below(dn, gone)));
        }
        for sent in &bundle.sent {
            if let Sent::Unlock(dn) = sent {
                self.all[session].locked.remove(dn);
            }
        }
        self.all[session].unanswered.clone_from(&bundle.sent);
    }

    /// A client gets answers, when record `applied` was the last that was applied. `writes_locks`: what a bind says of a lock is durable.
    ///
    /// # Errors
    /// In words: the client read a counter that is lower than one it has read before, or a transaction was committed that
    /// cannot be.
    pub fn on_answers(
        &mut self,
        session: usize,
        answers: &[Answer],
        (applied, writes_locks): (u64, bool),
    ) -> Result<(), Broken> {
        self.look_for_void(session, answers)?;
        let client = &mut self.all[session];
        for answer in answers {
            match answer {
                Answer::Entry(id, dn, attributes) => {
                    if client.unanswered.get(id.wrapping_sub(1)) == Some(&Sent::Scan) {
                        client.scanning.insert(dn.clone(), attributes.clone());
                    }
                    if let Some(Sent::ReadOwn(count)) = client.unanswered.get(id.wrapping_sub(1)) {
                        client.look_at_own(*count, attributes)?;
                        continue;
                    }
                    let Some(Sent::ReadCount(of)) = client.unanswered.get(id.wrapping_sub(1)) else {
                        continue;
                    };
                    let value = attributes.get(COUNTER).and_then(|values| values.first()?.parse().ok());
                    let (value, before) = (value.unwrap_or(0), client.read.get(of).copied().unwrap_or(0));
                    if value < before {
                        let what = format!(
                            "session {session} read {value} from the counter of session {of}, and {before} before"
                        );
                        return Err((properties::MONOTONIC, what));
                    }
                    client.read.insert(*of, value);
                }
                Answer::Done(id, code) => {
                    client.on_bind(*id, *code, (applied, writes_locks));
                    client.on_done(*id, *code, applied);
                }
                Answer::Extended(id, code, value) => {
                    client.on_extended(*id, *code, value.as_ref(), applied)?
                }
                Answer::Aborted(identifier, _) => client.on_aborted(identifier),
                Answer::Age(..) => {}
            }
        }
        Ok(())
    }

    /// No reader pins what a transaction has counted that was not committed.
    fn look_for_void(&self, session: usize, answers: &[Answer]) -> Result<(), Broken> {
        for answer in answers {
            let Answer::Entry(id, _, attributes) = answer else { continue };
            let sent = self.all[session].unanswered.get(id.wrapping_sub(1));
            let Some(Sent::ReadCount(of)) = sent else { continue };
            let value = attributes.get(COUNTER).and_then(|values| values.first()?.parse().ok());
            if value.is_some_and(|value| self.all[*of].void.contains(&value)) {
                let what = format!(
                    "session {session} read {value:?} from the counter of session {of}, which was not committed"
                );
                return Err((properties::VOID, what));
            }
        }
        Ok(())
    }

    /// What was on its way got no answer: its outcome is unknown.
    pub fn on_disconnect(&mut self) {
        for client in &mut self.all {
            client.unanswered.clear();
            client.failures.clear();
            client.transaction = None;
        }
    }

    /// The same for what one of them had on its way.
    pub fn on_disconnect_of(&mut self, session: usize) {
        self.all[session].unanswered.clear();
        self.all[session].transaction = None;
    }

    /// The records after `end` are gone, as the mode of the log allows: what clients know by them counts no longer.
    pub fn forget_after(&mut self, end: u64) {
        for client in &mut self.all {
            client.acknowledged.retain(|record, _| *record <= end);
            client.present.retain(|_, record| *record <= end);
            client.gone.retain(|_, record| *record <= end);
            client.governed.retain(|_, record| *record <= end);
            client.locked.retain(|_, record| *record <= end);
            client.read.clear();
        }
    }
}

impl Client {
    /// The client has read its own counter, behind the update that sets it to `count`.
    fn look_at_own(&self, count: u64, attributes: &Attributes) -> Result<(), Broken> {
        let value = attributes.get(COUNTER).and_then(|values| values.first()?.parse().ok()).unwrap_or(0);
        let acknowledged = self.acknowledged.values().next_back().copied().unwrap_or(0);
        if (acknowledged..=count).contains(&value) {
            return Ok(());
        }
        Err((
            properties::OWN,
            format!("{value} was read, behind {count}, and {acknowledged} was acknowledged"),
        ))
    }

    /// The scans that have ended since the last call.
    pub fn take_scans(&mut self) -> Vec<Scan> {
        std::mem::take(&mut self.scans)
    }

    fn on_extended(
        &mut self,
        id: usize,
        code: ResultCode,
        value: Option<&Vec<u8>>,
        applied: u64,
    ) -> Result<(), Broken> {
        match (self.unanswered.get(id.wrapping_sub(1)), code, value) {
            (Some(Sent::Begin), ResultCode::Success, Some(identifier)) => {
                self.transaction = Some(Transaction::new(identifier.clone()));
            }
            (Some(Sent::Commit), code, _) => {
                let transaction = self
                    .transaction
                    .take()
                    .ok_or((properties::VOID, "nobody asked for this commit".to_owned()))?;
                if code != ResultCode::Success {
                    self.transactions.1 += 1;
                    // Of a log that fails nobody knows what it has.
                    if code != ResultCode::Unavailable && transaction.count > 0 {
                        self.void.insert(transaction.count);
                    }
                } else if transaction.is_over {
                    let what = format!("{transaction:?} was committed, and it was given up");
                    return Err((properties::VOID, what));
                } else {
                    self.transactions.0 += 1;
                    self.acknowledged.insert(applied, transaction.count);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The answer to a wrong password. The last that an account may have locks it before it is answered.
    fn on_bind(&mut self, id: usize, code: ResultCode, (applied, writes_locks): (u64, bool)) {
        let Some(Sent::WrongBind(dn)) = self.unanswered.get(id.wrapping_sub(1)) else { return };
        if code != ResultCode::InvalidCredentials || !self.governed.contains_key(dn) {
            return;
        }
        let failures = self.failures.entry(dn.clone()).or_default();
        *failures += 1;
        if *failures >= FAILURES_MAX && writes_locks {
            self.locked.insert(dn.clone(), applied);
        }
    }

    fn on_aborted(&mut self, identifier: &[u8]) {
        if let Some(transaction) = self.transaction.as_mut().filter(|open| open.identifier == identifier) {
            transaction.is_over = true;
        }
    }

    fn on_done(&mut self, id: usize, code: ResultCode, applied: u64) {
        self.answered += 1;
        self.refused += u64::from(is_refusal(code));
        self.violated += u64::from(code == ResultCode::ConstraintViolation);
        match self.unanswered.get(id.wrapping_sub(1)) {
            Some(Sent::Scan) => {
                let scan = std::mem::take(&mut self.scanning);
                if code == ResultCode::Success {
                    self.scanned.clone_from(&scan);
                    self.scans.push(scan);
                }
            }
            Some(Sent::Member) if code != ResultCode::Success => {
                let open = self.transaction.as_mut();
                open.into_iter().for_each(|transaction| transaction.is_over = true);
            }
            _ => {}
        }
        if code != ResultCode::Success {
            return;
        }
        match self.unanswered.get(id.wrapping_sub(1)) {
            Some(Sent::Add(dn)) => _ = self.present.insert(dn.clone(), applied),
            Some(Sent::Remove(dn)) => {
                self.present.retain(|present, _| !is_below(present, dn));
                self.gone.insert(dn.clone(), applied);
            }
            Some(Sent::Govern(dn)) => _ = self.governed.insert(dn.clone(), applied),
            Some(Sent::Unlock(dn)) => _ = self.failures.remove(dn),
            Some(Sent::Count(to)) => _ = self.acknowledged.insert(applied, *to),
            _ => {}
        }
    }
}

/// Is `dn` the name of `above`, or of an entry below it?
pub fn is_below(dn: &str, above: &str) -> bool {
    dn.strip_suffix(above).is_some_and(|rest| rest.is_empty() || rest.ends_with(','))
}
