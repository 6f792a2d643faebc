//! Sessions move amounts between accounts, in transactions of two modifies, each only if the balance is still what was read;
//! and within an account, from one purse to the other, by an update alone. The one that reads all of them finds the same sum.

use crate::clients::Scan;
use crate::random::Random;
use crate::requests::{Bundle, Sent};
use crate::view::View;
use crate::workload::Workload;
use proto::op::ModifyKind;

const ACCOUNTS: i64 = 5;
const EACH: i64 = 100;
const BANK: &str = "ou=bank,dc=x";
const BALANCE: &str = "description";

/// See the module.
#[derive(Debug)]
pub(super) struct Transfers;

/// What an account holds, `60+40`: of each purse.
fn purses(scan: &Scan, dn: &str) -> Option<[i64; 2]> {
    let (first, second) = scan.get(dn)?.get(BALANCE)?.first()?.split_once('+')?;
    Some([first.parse().ok()?, second.parse().ok()?])
}

/// Puts something into each purse of an account, or takes it out, if it still holds what was read.
fn change(scan: &Scan, dn: &str, by: [i64; 2], sent: Sent, to: &mut Bundle) -> Option<()> {
    let held = purses(scan, dn)?;
    to.only_if = Some(format!("({BALANCE}={}+{})", held[0], held[1]));
    let new = format!("{}+{}", held[0] + by[0], held[1] + by[1]);
    to.modify(dn, ModifyKind::Replace, BALANCE, &[&new], sent);
    Some(())
}

impl Workload for Transfers {
    fn setup(&mut self, to: &mut Bundle) {
        to.add(BANK, &[("objectClass", "organizationalUnit"), ("ou", "bank")], Sent::Member);
        for number in 0..ACCOUNTS {
            let (name, each) = (format!("a{number}"), format!("{EACH}+0"));
            let attributes = [("objectClass", "device"), ("cn", name.as_str()), (BALANCE, each.as_str())];
            to.add(&format!("cn={name},{BANK}"), &attributes, Sent::Member);
        }
    }

    fn start(&mut self, _: usize, _: &mut Random, _: &mut Bundle) {}

    fn has_transactions(&self) -> bool {
        true
    }

    fn scanned(&self) -> (&'static str, &'static str) {
        (BANK, BALANCE)
    }

    fn transact(&mut self, scanned: &Scan, random: &mut Random, to: &mut Bundle) {
        let dns: Vec<&String> = scanned.keys().collect();
        if dns.len() < 2 {
            return;
        }
        let amount = random.below(50) as i64;
        let from = random.below(dns.len() as u64) as usize;
        let into = (from + 1 + random.below(dns.len() as u64 - 1) as usize) % dns.len();
        for (at, by) in [(from, -amount), (into, amount)] {
            let changed = change(scanned, dns[at], [by, 0], Sent::Member, to);
            changed.expect("what was scanned are accounts");
        }
    }

    fn update(&mut self, scanned: &Scan, random: &mut Random, to: &mut Bundle) {
        let Some(dn) = scanned.keys().nth(random.below(ACCOUNTS as u64) as usize) else { return };
        let amount = random.below(50) as i64;
        let changed = change(scanned, dn, [-amount, amount], Sent::Other, to);
        changed.expect("what was scanned are accounts");
    }

    fn look(&self, scan: &Scan) -> Result<(), String> {
        let purses = scan.keys().filter_map(|dn| purses(scan, dn));
        let balances: Vec<i64> = purses.map(|[first, second]| first + second).collect();
        let (count, sum) = (balances.len() as i64, balances.iter().sum::<i64>());
        let expected = if count == 0 { (0, 0) } else { (ACCOUNTS, ACCOUNTS * EACH) };
        match (count, sum) == expected {
            true => Ok(()),
            false => Err(format!("there are {count} accounts with {sum}: {balances:?}")),
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        self.look(&view.below(BANK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_is_another_is_noticed() {
        let scan = |balances: &[i64]| {
            let entry = |balance: &i64| [(BALANCE.to_owned(), vec![format!("{}+7", balance - 7)])].into();
            Transfers.look(&(0..).zip(balances).map(|(n, b)| (format!("cn=a{n},{BANK}"), entry(b))).collect())
        };
        assert_eq!(scan(&[]), Ok(()), "nothing is there yet");
        assert_eq!(scan(&[100, 50, 150, 220, -20]), Ok(()));
        assert!(scan(&[100, 50, 100, 100, 100]).is_err());
        assert!(scan(&[250, 250]).is_err(), "some are missing");
    }
}
