//! Accounts: two in each entry. A transfer within an entry is a single modify, one between entries a transaction; both happen
//! only if the balances are still those that were read. A scan is one search.

use super::Shared;
use super::client::{Client, Ended, Entry, How, Lost, Update};
use super::recorder::Recorder;
use env::entropy::{Entropy as _, SeededEntropy};
use histories::Step;
use std::collections::BTreeMap;

const BASE: &str = "ou=accounts,dc=x";
const ENTRIES: u64 = 3;
/// Attributes that hold a balance each.
const PURSES: [&str; 2] = ["title", "street"];
const EACH: i64 = 100;

/// The sum of all.
pub(super) const TOTAL: i64 = EACH * ENTRIES as i64 * PURSES.len() as i64;

fn dn(number: u64) -> String {
    format!("cn=a{number},{BASE}")
}

fn account(number: u64, purse: &str) -> String {
    format!("a{number}.{purse}")
}

/// Adds them.
pub(super) fn set_up(client: &mut Client) -> Result<(), Lost> {
    client.add(BASE, &[("objectClass", "organizationalUnit"), ("ou", "accounts")])?;
    let each = EACH.to_string();
    (0..ENTRIES).try_for_each(|number| {
        let name = format!("a{number}");
        let person = [("objectClass", "organizationalPerson"), ("cn", &name), ("sn", "s")];
        let purses = PURSES.map(|purse| (purse, each.as_str()));
        client.add(&dn(number), &[&person[..], &purses[..]].concat())
    })
}

/// Scans them, or moves something from one to another.
pub(super) fn turn(
    client: &mut Client,
    recorder: &mut Recorder<'_>,
    chance: &mut SeededEntropy,
    shared: &Shared,
) -> Result<(), Lost> {
    if chance.next_u64().is_multiple_of(3) {
        return scan(client, recorder);
    }
    let from = chance.next_u64() % ENTRIES;
    let to = if shared.transactions { chance.next_u64() % ENTRIES } else { from };
    let amount = (chance.next_u64() % 20) as i64 + 1;
    let how = if chance.next_u64().is_multiple_of(16) { How::GiveUp } else { How::Commit };
    let (source, target) = (read(client, from)?, read(client, to)?);
    recorder.invoke(&[transfer(from, to, amount)]);
    let done = if from == to {
        let set = [(PURSES[0], -amount), (PURSES[1], amount)];
        client.update(&update(from, &source, &set)).map(|done| done.is_ok())
    } else {
        let updates =
            [update(from, &source, &[(PURSES[0], -amount)]), update(to, &target, &[(PURSES[1], amount)])];
        client
            .transaction(&updates, how, shared.forms.draw(chance))
            .map(|ended| matches!(ended, Ended::Committed(_)))
    };
    match done.inspect_err(|lost| recorder.lost(lost))? {
        true => recorder.ok(vec![transfer(from, to, amount)]),
        false => recorder.fail(),
    }
    Ok(())
}

fn transfer(from: u64, to: u64, amount: i64) -> Step {
    Step::Transfer { from: account(from, PURSES[0]), to: account(to, PURSES[1]), amount }
}

/// What both accounts of an entry hold.
type Balances = BTreeMap<&'static str, i64>;

fn balances(entry: &Entry) -> Result<Balances, Lost> {
    let balance = |purse| {
        let value = entry.get(purse).and_then(|value| value.parse().ok());
        value.map(|value| (purse, value)).ok_or_else(|| Lost::Strange(format!("an account holds {entry:?}")))
    };
    PURSES.into_iter().map(balance).collect()
}

fn read(client: &mut Client, number: u64) -> Result<Balances, Lost> {
    balances(&client.read(&dn(number), &PURSES)?)
}

/// The balances of an entry change, if none has since they were read.
fn update(number: u64, held: &Balances, changes: &[(&'static str, i64)]) -> Update {
    let set = changes.iter().map(|(purse, by)| (*purse, (held[purse] + by).to_string())).collect();
    let items: String = held.iter().map(|(purse, balance)| format!("({purse}={balance})")).collect();
    Update { dn: dn(number), set, only_if: format!("(&{items})"), read: None }
}

/// One search for all of them.
pub(super) fn scan(client: &mut Client, recorder: &mut Recorder<'_>) -> Result<(), Lost> {
    recorder.invoke(&[Step::Scan { balances: None }]);
    let found = client.read_below(BASE, &PURSES).inspect_err(|lost| recorder.lost(lost))?;
    let mut all = BTreeMap::new();
    for number in 0..ENTRIES {
        let entry =
            found.get(&dn(number)).ok_or_else(|| Lost::Strange(format!("a scan did not find a{number}")))?;
        all.extend(balances(entry)?.into_iter().map(|(purse, balance)| (account(number, purse), balance)));
    }
    recorder.ok(vec![Step::Scan { balances: Some(all) }]);
    Ok(())
}
