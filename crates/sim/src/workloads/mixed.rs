//! Random updates of few entries by all sessions: much of it is refused, and names come and go.

use crate::random::Random;
use crate::requests::{Bundle, SUFFIX, Sent};
use crate::view::View;
use crate::workload::Workload;
use proto::op::ModifyKind;

/// Names that are used.
const NAMES: u64 = 12;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Mixed {
    texts: u64,
}

impl Workload for Mixed {
    fn setup(&mut self, _: &mut Bundle) {}

    fn start(&mut self, _: usize, random: &mut Random, to: &mut Bundle) {
        for _ in 0..=random.below(8) {
            let dn = dn(random);
            self.texts += 1;
            let text = "t".repeat(random.below(400) as usize) + &self.texts.to_string();
            match random.below(9) {
                // The schema wants a surname too.
                8 => to.add(&dn, &[("objectClass", "person"), ("cn", &text)], Sent::Other),
                0..=2 => {
                    let attributes =
                        [("objectClass", "inetOrgPerson"), ("cn", &text), ("sn", "s"), ("description", "d")];
                    to.add(&dn, &attributes, Sent::Other);
                }
                3 => to.delete(&dn, Sent::Other),
                4 => to.rename(&dn, &format!("uid=n{}", random.below(NAMES)), Sent::Other),
                5 => to.modify(&dn, ModifyKind::Add, "description", &[&text], Sent::Other),
                _ => to.modify(&dn, ModifyKind::Replace, "description", &[&text], Sent::Other),
            }
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        let texts = view.entries.values().flat_map(|entry| entry.get("cn").into_iter().flatten());
        let numbers = texts.filter_map(|text| text.trim_start_matches('t').parse::<u64>().ok());
        match numbers.max() {
            Some(number) if number > self.texts => Err(format!("nobody has sent the text {number}")),
            _ => Ok(()),
        }
    }
}

fn dn(random: &mut Random) -> String {
    match random.below(20) {
        0 => SUFFIX.to_owned(),
        1 => format!("uid=n{0},uid=n{0},{SUFFIX}", random.below(NAMES)),
        _ => format!("uid=n{},{SUFFIX}", random.below(NAMES)),
    }
}
