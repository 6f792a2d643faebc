//! Who votes and who leads when an operator has drained replicas and has had some replaced. What a leader thinks is still to be done is not asked: it may
//! be wrong about that.

use super::{Cluster, broken};
use crate::properties;
use crate::world::Violation;
use consensus::upkeep::Wishes;
use consensus::{Members, ReplicaId, Request};

/// What is known of a replica that is not to lead, besides what else is known.
pub(super) const DRAINED: &str = " drained";
/// What is known of a replica that joined in place of another one, before the number of that.
pub(super) const REPLACES: &str = " replaces ";

impl Cluster {
    /// In a calm, before long, one that is drained does not lead where another one can, and one whose place another has taken is no member.
    ///
    /// # Errors
    /// When that is not so, or not yet: whom the leader has not heard for a moment it does not ask to lead.
    pub(super) fn look_at_votes(&self) -> Result<(), Violation> {
        let Some((leader, control)) = self.leading() else { return Ok(()) };
        let members = control.view().members;
        let wishes = wishes(&members);
        let others = members.voters.iter().filter(|id| **id != leader && !wishes.drained.contains(id));
        let others: Vec<_> = others.collect();
        if wishes.drained.contains(&leader) && !others.is_empty() {
            let what = format!("replica {leader} leads and is drained, and {others:?} could lead");
            return Err(broken(properties::DRAINED)(what));
        }
        let votes = |(new, old): &(&_, &_)| members.voters.contains(new) && members.has(**old);
        match wishes.replaces.iter().find(votes) {
            Some((new, old)) => {
                let what = format!("replica {new} votes in place of replica {old}, which is a member");
                Err(broken(properties::REPLACED)(what))
            }
            None => Ok(()),
        }
    }
}

/// A leader by itself never makes an even number of votes of an odd one, and gives no vote in place of another that stays.
pub(super) fn look_at_wanted(now: &Members, next: &Request) -> Result<(), Violation> {
    let Request::Change(change, _) = next else { return Ok(()) };
    let both_vote = |(new, old): &(&_, &_)| change.voters.contains(new) && change.voters.contains(old);
    if let Some((new, old)) = wishes(now).replaces.iter().find(both_vote) {
        let what =
            format!("a leader wants replica {new} to vote beside replica {old}, in whose place it came");
        return Err(broken(properties::REPLACED)(what));
    }
    if !now.voters.len().is_multiple_of(2) && change.voters.len().is_multiple_of(2) {
        let what = format!("{:?} vote, and a leader wants {:?} to vote", now.voters, change.voters);
        return Err(broken(properties::ODD)(what));
    }
    Ok(())
}

/// What is wanted of members, as it stands in what is known of them.
pub(super) fn wishes(members: &Members) -> Wishes {
    let mut wishes = Wishes::default();
    for id in members.all() {
        let facts = facts(members, id);
        let known = facts.strip_suffix(DRAINED);
        wishes.drained.extend(known.map(|_| id));
        let old = known.unwrap_or(&facts).split_once(REPLACES).and_then(|(_, old)| old.parse().ok());
        wishes.replaces.extend(old.map(|old| (id, ReplicaId(old))));
    }
    wishes
}

pub(super) fn facts(members: &Members, id: ReplicaId) -> String {
    members.facts.get(&id).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}
