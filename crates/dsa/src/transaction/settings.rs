//! What transactions may do and how much of it: as chosen, and as it is in force.

use model::dn;
use model::limits::{
    DN_RDNS_MAX, TRANSACTION_AGE_MS_MAX, TRANSACTION_BYTES_MAX, TRANSACTION_PRECEDENCE_MAX,
    TRANSACTION_UPDATES_MAX, TRANSACTIONS_OPEN_MAX,
};
use schema::Schema;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// Settings of transactions as they were chosen.
/// It is what files, flags and `cn=config` say; [`Settings`] is what threads read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// May an update begin a transaction by naming an identifier that is not known?
    pub implicit_begin: bool,
    /// Does an update without a control belong to the transaction that its session has open?
    pub implicit_membership: bool,
    /// Does a search or compare that names a transaction see what its updates have made?
    pub search: bool,
    /// Updates in one transaction: 1 to [`TRANSACTION_UPDATES_MAX`].
    pub updates_max: u64,
    /// Bytes of updates in one transaction: 1 to [`TRANSACTION_BYTES_MAX`].
    pub bytes_max: u64,
    /// Milliseconds from a transaction's begin after which it is aborted: 1 to [`TRANSACTION_AGE_MS_MAX`].
    pub age_max_ms: u64,
    /// Transactions that are open at once in the server: 0 to [`TRANSACTIONS_OPEN_MAX`].
    pub open_max: u64,
    /// Whose transactions have precedence over others'. The one that is not below any of these has precedence 0.
    pub precedence: Vec<Precedence>,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices {
            implicit_begin: false,
            implicit_membership: false,
            search: false,
            updates_max: 10_000,
            bytes_max: 4 << 20,
            age_max_ms: 60_000,
            open_max: 1_000,
            precedence: Vec::new(),
        }
    }
}

const _: () = assert!(10_000 <= TRANSACTION_UPDATES_MAX && 1_000 <= TRANSACTIONS_OPEN_MAX);
const _: () = assert!(4 << 20 <= TRANSACTION_BYTES_MAX && 60_000 <= TRANSACTION_AGE_MS_MAX);

/// Precedence of the clients whose names are a DN or lie below it, `N:DN`; the empty DN is above all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precedence {
    /// 0 to [`TRANSACTION_PRECEDENCE_MAX`].
    pub number: u8,
    /// As it was written.
    pub dn: String,
}

impl fmt::Display for Precedence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, self.dn)
    }
}

impl FromStr for Precedence {
    type Err = String;

    fn from_str(text: &str) -> Result<Precedence, String> {
        let (number, name) =
            text.split_once(':').ok_or_else(|| format!("`{text}` is not of the form N:DN"))?;
        let number = number.trim().parse().ok().filter(|number| *number <= TRANSACTION_PRECEDENCE_MAX);
        let number = number
            .ok_or_else(|| format!("`{text}`: N is a number from 0 to {TRANSACTION_PRECEDENCE_MAX}"))?;
        match dn::parse(name.as_bytes()) {
            Ok(_) => Ok(Precedence { number, dn: name.to_owned() }),
            Err(error) => Err(format!("`{name}` is not a DN: {error}")),
        }
    }
}

/// Settings of transactions as they are in force: read by every thread, written when the administrator changes them. A
/// value counts from the next time it is asked for.
/// Atomics, for each update of a transaction looks at some of them; the list of names is behind a lock that is taken only where it is not empty.
#[derive(Debug, Default)]
pub struct Settings {
    implicit_begin: AtomicBool,
    implicit_membership: AtomicBool,
    search: AtomicBool,
    updates_max: AtomicU64,
    bytes_max: AtomicU64,
    age_max_ms: AtomicU64,
    open_max: AtomicU64,
    /// Are there any?
    has_precedence: AtomicBool,
    /// Normal forms of DNs, with what they give.
    precedence: RwLock<Vec<(Vec<u8>, u8)>>,
}

impl Settings {
    /// In force as they were chosen.
    ///
    /// # Errors
    /// The first DN that the schema does not know, and why.
    pub fn new(choices: &Choices, schema: &Schema) -> Result<Settings, String> {
        let settings = Settings::default();
        settings.put(choices, schema)?;
        Ok(settings)
    }

    /// Puts others in force, or none of them.
    ///
    /// # Errors
    /// As [`Settings::new`].
    pub fn put(&self, choices: &Choices, schema: &Schema) -> Result<(), String> {
        let keys = keys(choices, schema)?;
        // Relaxed, for each stands for itself: a thread that reads an old one allows what was allowed a moment ago.
        self.implicit_begin.store(choices.implicit_begin, Ordering::Relaxed);
        self.implicit_membership.store(choices.implicit_membership, Ordering::Relaxed);
        self.search.store(choices.search, Ordering::Relaxed);
        self.updates_max.store(choices.updates_max, Ordering::Relaxed);
        self.bytes_max.store(choices.bytes_max, Ordering::Relaxed);
        self.age_max_ms.store(choices.age_max_ms, Ordering::Relaxed);
        self.open_max.store(choices.open_max, Ordering::Relaxed);
        let has_precedence = !keys.is_empty();
        // A list is whole or not there: nobody leaves it half done.
        *self.precedence.write().unwrap_or_else(PoisonError::into_inner) = keys;
        // Behind the list, so that who reads that there are some finds them there.
        self.has_precedence.store(has_precedence, Ordering::Release);
        Ok(())
    }

    /// May an update begin a transaction by naming an identifier that is not known?
    #[inline]
    pub fn implicit_begin(&self) -> bool {
        self.implicit_begin.load(Ordering::Relaxed)
    }

    /// Does an update without a control belong to the transaction that its session has open?
    #[inline]
    pub fn implicit_membership(&self) -> bool {
        self.implicit_membership.load(Ordering::Relaxed)
    }

    /// Does a search or compare that names a transaction see what its updates have made?
    #[inline]
    pub fn search(&self) -> bool {
        self.search.load(Ordering::Relaxed)
    }

    /// Updates that one transaction may have.
    #[inline]
    pub fn updates_max(&self) -> u64 {
        self.updates_max.load(Ordering::Relaxed)
    }

    /// Bytes of updates that one transaction may have.
    #[inline]
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// Milliseconds that one transaction may be open.
    #[inline]
    pub fn age_max_ms(&self) -> u64 {
        self.age_max_ms.load(Ordering::Relaxed)
    }

    /// Transactions that may be open at once in the server.
    #[inline]
    pub fn open_max(&self) -> u64 {
        self.open_max.load(Ordering::Relaxed)
    }

    /// Has anybody a precedence?
    #[inline]
    pub fn ranks(&self) -> bool {
        self.has_precedence.load(Ordering::Acquire)
    }

    /// Precedence of the client called `dn`: the highest that is given to it or to a name above it, else 0. Takes no
    /// lock while nobody has any.
    /// It costs a normal form for each name on the way up. So a transaction asks once, when it first holds an entry, and other
    /// updates ask only while entries are held.
    pub fn precedence(&self, schema: &Schema, dn: &[u8]) -> u8 {
        if !self.ranks() {
            return 0;
        }
        let given = self.precedence.read().unwrap_or_else(PoisonError::into_inner);
        let (mut highest, mut key) = (0, Vec::new());
        let names = std::iter::successors(Some(dn), |dn| dn::split_first(dn).1).take(DN_RDNS_MAX + 1);
        for name in names.chain([&b""[..]]) {
            key.clear();
            if schema.normalise_dn(name, &mut key).is_ok() {
                let of_name = given.iter().filter(|(other, _)| *other == key).map(|(_, number)| *number);
                highest = of_name.fold(highest, u8::max);
            }
        }
        highest
    }
}

/// Names are compared in normal form, so that it does not matter how the administrator wrote them.
fn keys(choices: &Choices, schema: &Schema) -> Result<Vec<(Vec<u8>, u8)>, String> {
    let key = |given: &Precedence| {
        let mut key = Vec::new();
        let normalised = schema.normalise_dn(given.dn.as_bytes(), &mut key);
        normalised.map(|()| (key, given.number)).map_err(|invalid| format!("`{}`: {invalid}", given.dn))
    };
    choices.precedence.iter().map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tests::standard_schema;

    #[test]
    fn what_is_chosen_is_in_force() {
        let schema = standard_schema();
        let settings = Settings::new(&Choices::default(), &schema).unwrap();
        assert!(!settings.implicit_begin() && !settings.implicit_membership() && !settings.search());
        assert_eq!((settings.updates_max(), settings.bytes_max()), (10_000, 4 << 20));
        assert_eq!((settings.age_max_ms(), settings.open_max()), (60_000, 1_000));
        let chosen = Choices { implicit_begin: true, search: true, age_max_ms: 5, ..Choices::default() };
        settings.put(&chosen, &schema).unwrap();
        assert!(settings.implicit_begin() && !settings.implicit_membership() && settings.search());
        assert_eq!(settings.age_max_ms(), 5);
    }

    #[test]
    fn the_highest_precedence_above_a_name_counts() {
        let schema = standard_schema();
        let given = ["1:dc=com", "7:ou=Batch, dc=COM", "3:uid=ann,ou=batch,dc=com"];
        let precedence = given.iter().map(|text| text.parse().unwrap()).collect();
        let mut chosen = Choices { precedence, ..Choices::default() };
        let settings = Settings::new(&chosen, &schema).unwrap();
        let of = |dn: &str| settings.precedence(&schema, dn.as_bytes());
        assert_eq!((of(""), of("dc=org"), of("uid=ann,dc=com")), (0, 0, 1));
        assert_eq!((of("ou=batch,dc=com"), of("UID=Ann,OU=batch,DC=com")), (7, 7));
        chosen.precedence = vec!["2:".parse().unwrap()];
        settings.put(&chosen, &schema).unwrap();
        assert_eq!((settings.precedence(&schema, b""), settings.precedence(&schema, b"dc=org")), (2, 2));
    }

    #[test]
    fn a_precedence_is_a_digit_and_a_dn() {
        assert!("10:dc=com".parse::<Precedence>().unwrap_err().contains("0 to 9"));
        assert!("dc=com".parse::<Precedence>().unwrap_err().contains("N:DN"));
        assert!("1:com".parse::<Precedence>().unwrap_err().contains("not a DN"));
        let chosen = Choices { precedence: vec!["1:flavour=sweet".parse().unwrap()], ..Choices::default() };
        assert!(Settings::new(&chosen, &standard_schema()).unwrap_err().contains("flavour"));
    }
}
