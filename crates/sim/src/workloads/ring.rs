//! A ring of people, each the manager of the next. A transaction takes one out, puts a new one in its place, and gives the one
//! after it another name: a modify, a delete, a modifyDN and an add that are only right together. The ring is always closed.

use crate::clients::Scan;
use crate::random::Random;
use crate::requests::{Bundle, Sent};
use crate::view::View;
use crate::workload::Workload;
use proto::op::ModifyKind;
use std::collections::BTreeSet;

const MEMBERS: u64 = 6;
const RING: &str = "ou=ring,dc=x";
const NEXT: &str = "manager";

/// See the module.
#[derive(Debug)]
pub(super) struct Ring {
    /// Names given so far: none comes twice.
    names: u64,
}

impl Default for Ring {
    fn default() -> Ring {
        Ring { names: MEMBERS }
    }
}

fn dn(number: u64) -> String {
    format!("uid=m{number},{RING}")
}

fn add(to: &mut Bundle, dn: &str, next: &str) {
    let attributes = [("objectClass", "inetOrgPerson"), ("cn", "m"), ("sn", "m"), (NEXT, next)];
    to.add(dn, &attributes, Sent::Member);
}

fn next<'s>(scan: &'s Scan, dn: &str) -> Option<&'s String> {
    scan.get(dn)?.get(NEXT)?.first()
}

impl Workload for Ring {
    fn setup(&mut self, to: &mut Bundle) {
        to.add(RING, &[("objectClass", "organizationalUnit"), ("ou", "ring")], Sent::Member);
        for number in 0..MEMBERS {
            add(to, &dn(number), &dn((number + 1) % MEMBERS));
        }
    }

    fn start(&mut self, _: usize, _: &mut Random, _: &mut Bundle) {}

    fn has_transactions(&self) -> bool {
        true
    }

    fn scanned(&self) -> (&'static str, &'static str) {
        (RING, NEXT)
    }

    fn transact(&mut self, scanned: &Scan, random: &mut Random, to: &mut Bundle) {
        let Some(before) = scanned.keys().nth(random.below(MEMBERS) as usize) else { return };
        let Some((old, after)) = next(scanned, before).and_then(|old| Some((old, next(scanned, old)?)))
        else {
            return;
        };
        let (new, moved) = (dn(self.names), self.names + 1);
        self.names += 2;
        to.only_if = Some(format!("({NEXT}={old})"));
        to.modify(before, ModifyKind::Replace, NEXT, &[&new], Sent::Member);
        to.delete(old, Sent::Member);
        to.rename(after, &format!("uid=m{moved}"), Sent::Member);
        add(to, &new, &dn(moved));
    }

    fn update(&mut self, scanned: &Scan, random: &mut Random, to: &mut Bundle) {
        let Some(member) = scanned.keys().nth(random.below(MEMBERS) as usize) else { return };
        let text = random.below(10).to_string();
        to.modify(member, ModifyKind::Replace, "description", &[&text], Sent::Other);
    }

    fn look(&self, scan: &Scan) -> Result<(), String> {
        let Some(first) = scan.keys().next() else { return Ok(()) };
        let (mut seen, mut at) = (BTreeSet::new(), first);
        while seen.insert(at) {
            at = next(scan, at).ok_or_else(|| format!("the ring is open at {at}: {:?}", scan.keys()))?;
        }
        match at == first && seen.len() == scan.len() && seen.len() as u64 == MEMBERS {
            true => Ok(()),
            false => Err(format!("the ring has {} of {} members", seen.len(), scan.len())),
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        self.look(&view.below(RING))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(ring: &[(u64, u64)]) -> Result<(), String> {
        let entry = |(_, next): &(u64, u64)| [(NEXT.to_owned(), vec![dn(*next)])].into();
        Ring::default().look(&ring.iter().map(|pair| (dn(pair.0), entry(pair))).collect())
    }

    #[test]
    fn a_ring_that_is_open_or_too_small_is_noticed() {
        assert_eq!(look(&[]), Ok(()), "nothing is there yet");
        assert_eq!(look(&[(0, 1), (1, 2), (2, 13), (13, 4), (4, 5), (5, 0)]), Ok(()));
        assert!(look(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]).unwrap_err().contains("open"));
        assert!(look(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]).is_err(), "two rings");
        assert!(look(&[(0, 1), (1, 2), (2, 1), (3, 4), (4, 5), (5, 0)]).is_err(), "an end that is a loop");
        assert!(look(&[(0, 1), (1, 0)]).is_err(), "some are missing");
    }
}
