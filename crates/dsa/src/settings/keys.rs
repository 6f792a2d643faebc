//! The table of settings that can be changed while the server runs: name in the configuration file, attribute of
//! `cn=config`, text to value and back.

use super::Choices;
use super::value::{bytes_within, number, on_off, switch};
use crate::transaction::Precedence;
use model::limits::{
    PRECEDENCES_MAX, TRANSACTION_AGE_MS_MAX, TRANSACTION_BYTES_MAX, TRANSACTION_UPDATES_MAX,
    TRANSACTIONS_OPEN_MAX,
};

/// Values that are bad, by their place, and why.
type Bad = Vec<(usize, String)>;

/// One of them.
pub struct Key {
    /// Name in the configuration file.
    pub name: &'static str,
    /// The attribute of `cn=config`.
    pub attribute: &'static str,
    /// Whether it may have several values.
    pub many: bool,
    set: fn(&mut Choices, &[String]) -> Result<(), Bad>,
    show: fn(&Choices) -> Vec<String>,
}

impl Key {
    /// Sets it from text.
    ///
    /// # Errors
    /// The values that are bad, by their place, and why.
    pub fn set(&self, choices: &mut Choices, values: &[String]) -> Result<(), Vec<(usize, String)>> {
        if !self.many && values.len() != 1 {
            return Err(vec![(0, format!("`{}` takes one value", self.name))]);
        }
        (self.set)(choices, values)
    }

    /// Its values, as text.
    pub fn show(&self, choices: &Choices) -> Vec<String> {
        (self.show)(choices)
    }
}

/// The key called `name`.
pub fn find(name: &str) -> Option<&'static Key> {
    ONLINE.iter().find(|key| key.name == name)
}

/// Every one.
pub const ONLINE: &[Key] = &[
    Key {
        name: "txn-implicit-begin",
        attribute: "pandoTxnImplicitBegin",
        many: false,
        set: |c, v| put(&mut c.transactions.implicit_begin, v, switch),
        show: |c| vec![on_off(c.transactions.implicit_begin)],
    },
    Key {
        name: "txn-implicit-membership",
        attribute: "pandoTxnImplicitMembership",
        many: false,
        set: |c, v| put(&mut c.transactions.implicit_membership, v, switch),
        show: |c| vec![on_off(c.transactions.implicit_membership)],
    },
    Key {
        name: "txn-search",
        attribute: "pandoTxnSearch",
        many: false,
        set: |c, v| put(&mut c.transactions.search, v, switch),
        show: |c| vec![on_off(c.transactions.search)],
    },
    Key {
        name: "txn-updates-max",
        attribute: "pandoTxnUpdatesMax",
        many: false,
        set: |c, v| put(&mut c.transactions.updates_max, v, |t| number(t, 1, TRANSACTION_UPDATES_MAX)),
        show: |c| vec![c.transactions.updates_max.to_string()],
    },
    Key {
        name: "txn-bytes-max",
        attribute: "pandoTxnBytesMax",
        many: false,
        set: |c, v| put(&mut c.transactions.bytes_max, v, |t| bytes_within(t, 1, TRANSACTION_BYTES_MAX)),
        show: |c| vec![c.transactions.bytes_max.to_string()],
    },
    Key {
        name: "txn-age-max",
        attribute: "pandoTxnAgeMax",
        many: false,
        set: |c, v| put(&mut c.transactions.age_max_ms, v, |t| number(t, 1, TRANSACTION_AGE_MS_MAX)),
        show: |c| vec![c.transactions.age_max_ms.to_string()],
    },
    Key {
        name: "txn-open-max",
        attribute: "pandoTxnOpenMax",
        many: false,
        set: |c, v| put(&mut c.transactions.open_max, v, |t| number(t, 0, TRANSACTIONS_OPEN_MAX)),
        show: |c| vec![c.transactions.open_max.to_string()],
    },
    Key {
        name: "txn-precedence",
        attribute: "pandoTxnPrecedence",
        many: true,
        set: |c, v| each(&mut c.transactions.precedence, v),
        show: |c| c.transactions.precedence.iter().map(Precedence::to_string).collect(),
    },
];

fn put<T>(place: &mut T, values: &[String], parse: impl Fn(&str) -> Result<T, String>) -> Result<(), Bad> {
    *place = parse(&values[0]).map_err(|reason| vec![(0, reason)])?;
    Ok(())
}

fn each(place: &mut Vec<Precedence>, values: &[String]) -> Result<(), Bad> {
    if values.len() > PRECEDENCES_MAX {
        return Err(vec![(PRECEDENCES_MAX, format!("{PRECEDENCES_MAX} names have a precedence at most"))]);
    }
    let (mut good, mut bad) = (Vec::new(), Bad::new());
    for (at, text) in values.iter().enumerate() {
        match text.parse() {
            Ok(value) => good.push(value),
            Err(reason) => bad.push((at, reason)),
        }
    }
    if bad.is_empty() {
        *place = good;
        return Ok(());
    }
    Err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tests::standard_schema;

    #[test]
    fn every_key_has_an_attribute_and_its_text_comes_back() {
        let schema = standard_schema();
        for key in ONLINE {
            assert!(schema.find_type(key.attribute.as_bytes()).is_some(), "{}", key.attribute);
            let (mut choices, defaults) = (Choices::default(), Choices::default());
            key.set(&mut choices, &key.show(&defaults)).unwrap();
            assert_eq!(choices, defaults, "{}", key.name);
        }
    }

    #[test]
    fn a_bad_value_says_what_would_be_good() {
        let mut choices = Choices::default();
        let mut bad = |name: &str, values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| value.to_string()).collect();
            find(name).unwrap().set(&mut choices, &values).unwrap_err().remove(0)
        };
        assert!(bad("txn-implicit-begin", &["perhaps"]).1.contains("neither `on` nor `off`"));
        assert!(bad("txn-updates-max", &["0"]).1.contains("from 1 to"));
        assert!(bad("txn-bytes-max", &["17MiB"]).1.contains("from 1 to 16777216"));
        assert!(bad("txn-age-max", &["1", "2"]).1.contains("takes one value"));
        assert_eq!(bad("txn-precedence", &["1:dc=com", "x"]).0, 1);
        assert_eq!(choices, Choices::default());
    }
}
