//! Sessions paint all boards in a colour of their own, in transactions of plain modifies, which are prepared as they come in
//! and installed at the end: the one that reads all boards at once finds one colour. Meanwhile others write something else on
//! a board, so that prepared writes are made of entries that are not there any more.

use crate::clients::Scan;
use crate::random::Random;
use crate::requests::{Bundle, Sent};
use crate::view::View;
use crate::workload::Workload;
use proto::op::ModifyKind;

const BOARDS: usize = 4;
const FENCE: &str = "ou=fence,dc=x";
const COLOUR: &str = "serialNumber";
const PLACE: &str = "l";

/// See the module.
#[derive(Debug)]
pub(super) struct Stripes;

fn board(number: usize) -> String {
    format!("cn=b{number},{FENCE}")
}

impl Workload for Stripes {
    fn setup(&mut self, to: &mut Bundle) {
        to.add(FENCE, &[("objectClass", "organizationalUnit"), ("ou", "fence")], Sent::Member);
        for number in 0..BOARDS {
            let name = format!("b{number}");
            let attributes =
                [("objectClass", "device"), ("cn", name.as_str()), (COLOUR, "none"), (PLACE, "0")];
            to.add(&board(number), &attributes, Sent::Member);
        }
    }

    fn start(&mut self, _: usize, _: &mut Random, _: &mut Bundle) {}

    fn has_transactions(&self) -> bool {
        true
    }

    fn scanned(&self) -> (&'static str, &'static str) {
        (FENCE, COLOUR)
    }

    fn transact(&mut self, scanned: &Scan, random: &mut Random, to: &mut Bundle) {
        if scanned.len() < BOARDS {
            return;
        }
        let colour = random.below(u64::MAX).to_string();
        let first = random.below(BOARDS as u64) as usize;
        for number in (0..BOARDS).map(|at| (first + at) % BOARDS) {
            let mut paint = |with: &str| {
                to.modify(&board(number), ModifyKind::Replace, COLOUR, &[with], Sent::Member);
            };
            if random.chance(250) {
                // What is painted over in the same transaction is nobody's to see.
                paint("primer");
            }
            paint(&colour);
        }
    }

    fn update(&mut self, scanned: &Scan, random: &mut Random, to: &mut Bundle) {
        let Some(dn) = scanned.keys().nth(random.below(BOARDS as u64) as usize) else { return };
        let place = random.below(1000).to_string();
        to.modify(dn, ModifyKind::Replace, PLACE, &[&place], Sent::Other);
    }

    fn look(&self, scan: &Scan) -> Result<(), String> {
        let colours: Vec<_> = scan.values().filter_map(|entry| entry.get(COLOUR)?.first()).collect();
        let is_one = colours.windows(2).all(|two| two[0] == two[1]);
        match is_one && [0, BOARDS].contains(&colours.len()) && colours.first().is_none_or(|c| *c != "primer")
        {
            true => Ok(()),
            false => Err(format!("the boards have the colours {colours:?}")),
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        self.look(&view.below(FENCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_colours_are_noticed() {
        let scan = |colours: &[&str]| {
            let entry = |colour: &&str| [(COLOUR.to_owned(), vec![(*colour).to_owned()])].into();
            Stripes.look(&(0..).zip(colours).map(|(n, c)| (board(n), entry(c))).collect())
        };
        assert_eq!(scan(&[]), Ok(()), "nothing is there yet");
        assert_eq!(scan(&["7", "7", "7", "7"]), Ok(()));
        assert!(scan(&["7", "7", "8", "7"]).is_err());
        assert!(scan(&["7", "7", "7"]).is_err(), "one is missing");
        assert!(scan(&["primer"; 4]).is_err());
    }
}
