//! How a replica takes part in changes of members.

use crate::change::{self, Change};
use crate::control::{Other, Refusal, Request, Standing};
use crate::entries::changed;
use crate::faults::{self, holes};
use crate::member::{FACTS_BYTES_MAX, KNOWN_MAX, ReplicaId, VOTERS_MAX};
use crate::raft_log::RaftLog;
use crate::transfers::Fetch;
use env::planted;
use raft::eraftpb::{ConfChangeType, ConfChangeV2, Entry, EntryType};
use raft::{ProgressState, StateRole};

/// Milliseconds between two views that are published, if nothing but numbers of entries changes.
const PUBLISH_MS: u64 = 100;
/// Milliseconds between two reports of a fetch to the leader.
const REPORT_MS: u64 = 500;
/// Bytes that a change of members takes as an entry besides what is newly known, at most.
const CHANGE_BYTES: usize = 512;
/// Bytes that one change may make known.
const NEW_FACTS_BYTES_MAX: usize = 8 << 10;

impl RaftLog {
    /// Does what is asked for, and leaves a joint state.
    pub(crate) fn serve(&mut self) {
        while let Some((number, asked)) = self.control.take() {
            let done = match asked {
                Request::Change(change, at) => self.change(&change, at),
                Request::Transfer(to) => self.transfer(to),
                Request::Fetch(fetch) => {
                    self.on_fetch(fetch);
                    Ok(())
                }
                Request::Compared(compared) => {
                    (self.compared, self.published_ms) = (compared, 0);
                    Ok(())
                }
            };
            if let Err(refusal) = done {
                self.control.refuse(number, refusal);
            }
        }
        // The core leaves a joint state by itself only if no leader changes meanwhile.
        let members = self.core.store().members().1;
        let (is_joint, votes) = (members.is_joint(), members.voters.contains(&self.id));
        if self.leads() && is_joint && !planted::is(faults::JOINT_NOT_LEFT) {
            let _ = self.propose_change(ConfChangeV2::default());
        }
        // That it has no vote any more was in its log when it was elected, and it has learned only then that this is committed. The core goes on
        // leading and drops every proposal.
        if self.leads() && !is_joint && !votes && self.core.raft.lead_transferee.is_none() {
            self.next_leader().into_iter().for_each(|next| self.core.transfer_leader(next));
        }
    }

    pub(crate) fn leads(&self) -> bool {
        self.core.raft.state == StateRole::Leader
    }

    /// Is its directory wrong? Then it goes on with what it has promised of its log, and does not want to lead.
    pub(crate) fn is_rebuilt(&self) -> bool {
        self.compared.standing.is_rebuilt()
    }

    fn change(&mut self, wanted: &Change, at: u64) -> Result<(), Refusal> {
        let (made_at, now) = self.core.store().members();
        if (now.is_joint() || made_at != at) && !planted::is(holes::TWO_CHANGES_AT_ONCE) {
            return Err(Refusal::OtherChange);
        }
        let is_new = |id: &&ReplicaId| !now.facts.contains_key(id);
        let known = now.facts.len() + wanted.facts.keys().filter(is_new).count();
        let is_sound = (1..=VOTERS_MAX).contains(&wanted.voters.len())
            && wanted.learners.len() <= VOTERS_MAX
            && wanted.voters.is_disjoint(&wanted.learners)
            && wanted.facts.values().all(|facts| facts.len() <= FACTS_BYTES_MAX)
            && wanted.facts.values().map(Vec::len).sum::<usize>() <= NEW_FACTS_BYTES_MAX
            && known <= KNOWN_MAX;
        if !is_sound {
            return Err(Refusal::Members);
        }
        if !wanted.voters.contains(&self.id) {
            return Err(Refusal::Leads);
        }
        let steps = wanted.steps(now);
        self.propose_change(steps)
    }

    fn propose_change(&mut self, change: ConfChangeV2) -> Result<(), Refusal> {
        let raft = &self.core.raft;
        if !self.leads() || !raft.commit_to_current_term() {
            return Err(Refusal::NotLeader);
        }
        if raft.has_pending_conf() && !planted::is(holes::TWO_CHANGES_AT_ONCE) {
            return Err(Refusal::OtherChange);
        }
        if self.persist.is_full() || self.must_have_room(CHANGE_BYTES + change.context.len()).is_err() {
            return Err(Refusal::Full);
        }
        self.core.propose_conf_change(Vec::new(), change).map_err(|_| Refusal::Full)
    }

    /// A leader that has applied its own removal leads no more, before it takes or answers anything: the core counts what a leader has as that of a member,
    /// and where one voter is left it answers reads without a question to that.
    pub(crate) fn leave_if_removed(&mut self) {
        let leads = self.leads();
        let raft = &mut self.core.raft;
        if leads && raft.prs().get(raft.id).is_none() {
            raft.become_follower(raft.term, 0);
        }
    }

    fn transfer(&mut self, to: ReplicaId) -> Result<(), Refusal> {
        if !self.leads() {
            return Err(Refusal::NotLeader);
        }
        if !self.core.store().members().1.voters.contains(&to) {
            return Err(Refusal::Members);
        }
        self.core.transfer_leader(to.0);
        Ok(())
    }

    fn on_fetch(&mut self, fetch: Fetch) {
        match fetch {
            Fetch::Goes if self.now_ms < self.reported_ms + REPORT_MS => {}
            Fetch::Goes => self.report_fetch(fetch),
            Fetch::Failed => {
                self.report_fetch(fetch);
                (self.wanted, self.published_ms) = (None, 0);
                if self.is_rebuilt() {
                    // The leader says it again.
                    self.compared.standing = Standing::Rebuilt(None);
                }
            }
        }
    }

    /// An entry that changes members is committed. What cannot be read or does not fit changes nothing, at each replica.
    pub(crate) fn apply_change(&mut self, entry: &Entry) {
        let Some((change, facts)) = change::decode(&entry.data) else {
            tracing::error!(entry = entry.index, "a change of members cannot be read; nothing is changed");
            return;
        };
        if planted::is(faults::REMOVED_STILL_COUNTED) && !self.leads() && removes(&change) {
            return;
        }
        let Some(members) = changed(&mut self.core, entry.index, &change, facts) else { return };
        self.lease.on_members(self.reads.asked());
        tracing::info!(
            entry = entry.index,
            voters = ?numbers(&members.voters),
            before = ?numbers(&members.outgoing),
            learners = ?numbers(&members.learners),
            "members changed"
        );
        self.core.mut_store().on_members(entry.index, members);
        self.published_ms = 0;
    }

    /// As a planted fault does.
    pub(crate) fn apply_all_changes(&mut self) {
        let entries = self.core.store().all_entries();
        let changes = entries.into_iter().filter(|entry| entry.get_entry_type() != EntryType::EntryNormal);
        changes.for_each(|entry| self.apply_change(&entry));
    }

    /// Publishes how this replica fares, if that is another than before or some time has passed.
    pub(crate) fn publish(&mut self) {
        let raft = &self.core.raft;
        let (at, members) = self.core.store().members();
        let leader = Some(ReplicaId(raft.leader_id)).filter(|leader| leader.0 != 0);
        let (term, is_due) = (raft.term, self.now_ms >= self.published_ms + PUBLISH_MS);
        let is_leader = self.leads();
        if !is_due && self.published == (term, leader, at) {
            return;
        }
        (self.published, self.published_ms) = ((term, leader, at), self.now_ms);
        self.control.publish(|view| {
            (view.term, view.leader, view.commit) = (term, leader, raft.raft_log.committed);
            if view.members_index != at || view.members.voters.is_empty() {
                (view.members_index, view.members) = (at, members.clone());
            }
            view.wanted = match self.compared.standing {
                Standing::Rebuilt(Some(wanted)) => Some(wanted),
                _ => self.wanted.filter(|wanted| wanted.at.index.0 > raft.raft_log.committed),
            };
            if view.compared != self.compared {
                view.compared = self.compared.clone();
            }
            // Others keep it: the only one that votes leads before its disk has the term.
            let own = raft.prs().get(raft.id).filter(|_| is_leader && self.persist.synced().term == term);
            view.synced = own.map_or(0, |progress| progress.matched);
            view.others.clear();
            let others = raft.prs().iter().filter(|(id, _)| is_leader && **id != raft.id);
            view.others.extend(others.map(|(id, progress)| Other {
                id: ReplicaId(*id),
                matched: progress.matched,
                is_active: self.transfers.is_heard(*id, self.now_ms),
                fetches: progress.state == ProgressState::Snapshot,
            }));
            view.others.sort_by_key(|other| other.id);
        });
    }
}

fn removes(change: &ConfChangeV2) -> bool {
    change.changes.iter().any(|step| step.get_change_type() == ConfChangeType::RemoveNode)
}

fn numbers(ids: &[ReplicaId]) -> Vec<u64> {
    ids.iter().map(|id| id.0).collect()
}
