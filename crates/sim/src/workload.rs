//! What a workload is: the part of a world that says what clients do.

use crate::clients::{Client, Scan, Transaction};
use crate::properties;
use crate::random::Random;
use crate::requests::{Bundle, Sent};
use crate::view::View;
use dsa::settings::Texts;
use model::Scope;

/// Something that clients do. It knows what it has sent, not what became of it.
pub trait Workload: Send {
    /// Adds what must be there before; with transactions, in one that comes to nothing if it is there.
    fn setup(&mut self, to: &mut Bundle);

    /// Adds the next updates of a session.
    fn start(&mut self, session: usize, random: &mut Random, to: &mut Bundle);

    /// How often a bundle sets the counter of its session at most, each time with reads behind it.
    fn counts_at_most(&self) -> u64 {
        1
    }

    /// Does it update by transactions?
    fn has_transactions(&self) -> bool {
        false
    }

    /// The entry whose subordinates a session reads before it changes them in a transaction, and the attribute that counts.
    fn scanned(&self) -> (&'static str, &'static str) {
        ("", "")
    }

    /// Adds a read of those entries at once.
    fn scan(&self, to: &mut Bundle) {
        let (base, attribute) = self.scanned();
        to.search(base, Scope::One, "(objectClass=*)", &[attribute], Sent::Scan);
    }

    /// Adds the updates of a session's transaction that has begun, and that of its counter.
    fn add_members(
        &mut self,
        (session, client): (usize, &mut Client),
        random: &mut Random,
        open: &mut Transaction,
        to: &mut Bundle,
    ) {
        to.transaction = Some(open.identifier.clone());
        client.counted += 1;
        open.count = client.counted;
        // First or last: of half a transaction the one or the other would be missing.
        let counts_first = random.chance(500);
        if counts_first {
            to.count(session, open.count, Sent::Member);
        }
        self.transact(&client.scanned, random, to);
        if !counts_first {
            to.count(session, open.count, Sent::Member);
        }
        open.members.clone_from(&to.members);
        to.transaction = None;
    }

    /// Adds the updates of a session's next transaction, by what it knows of the entries.
    fn transact(&mut self, _scanned: &Scan, _random: &mut Random, _to: &mut Bundle) {}

    /// Adds an update by itself of an entry that transactions are about too, if there is any.
    fn update(&mut self, _scanned: &Scan, _random: &mut Random, _to: &mut Bundle) {}

    /// Looks at entries that were read at once.
    ///
    /// # Errors
    /// In words: they cannot all have been there at one moment.
    fn look(&self, _scan: &Scan) -> Result<(), String> {
        Ok(())
    }

    /// Does somebody take backups meanwhile, restore, export and import?
    fn is_operated(&self) -> bool {
        false
    }

    /// Does it add definitions to the schema?
    fn defines(&self) -> bool {
        false
    }

    /// Settings that every start is given.
    fn settings(&self) -> Option<Texts> {
        None
    }

    /// Does a start write by itself what it knows of definitions and settings more than its log does?
    fn starts_write(&self) -> bool {
        self.defines() || self.settings().is_some()
    }

    /// What does not hold where [`Workload::check`] finds something.
    fn property(&self) -> &'static str {
        properties::SENT
    }

    /// Looks at what is there after a start.
    ///
    /// # Errors
    /// In words: what cannot come of what was sent.
    fn check(&self, view: &View) -> Result<(), String>;
}
