//! Members come to big groups and go: sets of values that are trees. A member comes and goes together with its mark in
//! another group, so that both have the same members.

use crate::random::Random;
use crate::requests::{Bundle, SUFFIX, Sent};
use crate::view::View;
use crate::workload::Workload;
use proto::op::ModifyKind;

/// Two groups with the same members.
const GROUPS: [&str; 2] = ["cn=one,dc=x", "cn=two,dc=x"];
/// Members that come and go; a set of more than 64 values is a tree.
const MEMBERS: u64 = 300;
/// Members that come at once.
const TOGETHER: u64 = 40;

/// See the module.
#[derive(Debug)]
pub(super) struct Groups;

impl Workload for Groups {
    fn setup(&mut self, to: &mut Bundle) {
        for (dn, cn) in GROUPS.into_iter().zip(["one", "two"]) {
            to.add(dn, &[("objectClass", "groupOfNames"), ("cn", cn), ("member", SUFFIX)], Sent::Other);
        }
    }

    fn start(&mut self, _: usize, random: &mut Random, to: &mut Bundle) {
        for _ in 0..=random.below(3) {
            let first = random.below(MEMBERS);
            let count = if random.chance(500) { 1 } else { 1 + random.below(TOGETHER) };
            let members: Vec<String> = (first..first + count).map(|n| format!("cn=m{n},{SUFFIX}")).collect();
            let members: Vec<&str> = members.iter().map(String::as_str).collect();
            let kind = if random.chance(600) { ModifyKind::Add } else { ModifyKind::Delete };
            for group in GROUPS {
                to.modify(group, kind, "member", &members, Sent::Other);
            }
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        let members = GROUPS.map(|group| {
            let entry = view.entries.get(group);
            let mut members = entry.and_then(|entry| entry.get("member").cloned()).unwrap_or_default();
            members.sort_unstable();
            members
        });
        match members[0] == members[1] {
            true => Ok(()),
            false => {
                Err(format!("{} and {} members of groups with the same", members[0].len(), members[1].len()))
            }
        }
    }
}
