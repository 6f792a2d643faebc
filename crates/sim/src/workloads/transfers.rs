//! Sessions move amounts between accounts, in transactions of two modifies, each only if the balance is still what was read.
//! Whoever reads all of them finds the same sum.

use super::Workload;
use crate::clients::Scan;
use crate::random::Random;
use crate::requests::{Bundle, Sent};
use crate::view::View;
use proto::op::ModifyKind;

const ACCOUNTS: i64 = 5;
const EACH: i64 = 100;
const BANK: &str = "ou=bank,dc=x";
const BALANCE: &str = "description";

/// See the module.
#[derive(Debug)]
pub(super) struct Transfers;

fn balance(scan: &Scan, dn: &str) -> Option<i64> {
    scan.get(dn)?.get(BALANCE)?.first()?.parse().ok()
}

impl Workload for Transfers {
    fn setup(&mut self, to: &mut Bundle) {
        to.add(BANK, &[("objectClass", "organizationalUnit"), ("ou", "bank")], Sent::Member);
        for number in 0..ACCOUNTS {
            let (name, each) = (format!("a{number}"), EACH.to_string());
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
            let Some(held) = balance(scanned, dns[at]) else { return };
            to.only_if = Some(format!("({BALANCE}={held})"));
            let new = (held + by).to_string();
            to.modify(dns[at], ModifyKind::Replace, BALANCE, &[&new], Sent::Member);
        }
    }

    fn look(&self, scan: &Scan) -> Result<(), String> {
        let balances: Vec<i64> = scan.keys().filter_map(|dn| balance(scan, dn)).collect();
        let (count, sum) = (balances.len() as i64, balances.iter().sum::<i64>());
        let expected = if count == 0 { (0, 0) } else { (ACCOUNTS, ACCOUNTS * EACH) };
        match (count, sum) == expected {
            true => Ok(()),
            false => Err(format!("there are {count} accounts with {sum}: {balances:?}")),
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        let is_account = |dn: &str| dn.strip_suffix(BANK).is_some_and(|rdn| !rdn.is_empty());
        let accounts = view.entries.iter().filter(|(dn, _)| is_account(dn));
        self.look(&accounts.map(|(dn, entry)| (dn.clone(), entry.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_is_another_is_noticed() {
        let scan = |balances: &[i64]| {
            let entry = |balance: &i64| [(BALANCE.to_owned(), vec![balance.to_string()])].into();
            Transfers.look(&(0..).zip(balances).map(|(n, b)| (format!("cn=a{n},{BANK}"), entry(b))).collect())
        };
        assert_eq!(scan(&[]), Ok(()), "nothing is there yet");
        assert_eq!(scan(&[100, 50, 150, 220, -20]), Ok(()));
        assert!(scan(&[100, 50, 100, 100, 100]).is_err());
        assert!(scan(&[250, 250]).is_err(), "some are missing");
    }
}
