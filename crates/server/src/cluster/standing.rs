//! How a member fares, as this node sees it: for `pando cluster status`, and for the monitor.

use super::facts::Facts;
use super::node::Node;
use consensus::{ReplicaId, View};
use dsa::group::{Group, Metrics, Replica};
use env::clock::Clock as _;
use std::sync::PoisonError;

/// See the module.
pub(super) struct Standing {
    /// In a word: leader, follower, learner or down.
    pub(super) role: &'static str,
    /// Entries that it lacks, and seconds since it lacks one, if this node knows.
    pub(super) lag: Option<(u64, f64)>,
    /// Does it fetch a snapshot?
    pub(super) fetches: bool,
    /// Milliseconds that a sync of its log takes, if that is known.
    pub(super) sync_ms: Option<f64>,
    /// Seconds by which its clock is ahead of the middle one of all, if that is known.
    pub(super) clock_s: Option<f64>,
}

impl Node {
    /// Of a member. Who leads knows it of all; any other node of itself, and takes all others for down.
    pub(super) fn standing(&self, id: ReplicaId, view: &View) -> Standing {
        let leads = view.leader == Some(self.id());
        let other = view.others.iter().find(|other| other.id == id);
        // A follower knows of itself that it runs, and of the others nothing.
        let is_up = id == self.id() || other.is_some_and(|other| other.is_active);
        let role = match (is_up, view.leader == Some(id)) {
            (false, _) => "down",
            (true, true) => "leader",
            (true, false) if view.members.voters.contains(&id) => "follower",
            (true, false) => "learner",
        };
        let matched = if id == self.id() { Some(view.commit) } else { other.map(|other| other.matched) };
        let now_ms = self.clock.monotonic_ns() / 1_000_000;
        let lags = self.lags.lock().unwrap_or_else(PoisonError::into_inner);
        let lag = matched
            .filter(|_| leads || id == self.id())
            .map(|matched| (view.commit.saturating_sub(matched), lags.seconds(now_ms, matched, view.commit)));
        let condition = view.conditions.replicas.iter().find(|condition| condition.id == id);
        let sync_us = condition.and_then(|condition| condition.sync_us);
        let clock_ms = condition.and_then(|condition| condition.clock_ms);
        Standing {
            role,
            lag,
            fetches: other.is_some_and(|other| other.fetches),
            sync_ms: sync_us.map(|us| us as f64 / 1000.0),
            clock_s: clock_ms.map(|ms| ms as f64 / 1000.0),
        }
    }

    fn replica(&self, id: ReplicaId, view: &View) -> Replica {
        let Standing { role, lag, sync_ms, clock_s, .. } = self.standing(id, view);
        // Whether others run is for the one that leads to say.
        let role = match view.leader {
            _ if id == self.id() => role,
            Some(leader) if leader == self.id() => role,
            Some(leader) if leader == id => "leader",
            _ => "unknown",
        };
        let facts = Facts::of(&view.members, id);
        let url = facts.urls().next().unwrap_or_default();
        Replica { node: id.0, role, lag, sync_ms, clock_s, url, newest: facts.newest }
    }
}

impl Group for Node {
    fn metrics(&self) -> Metrics {
        let Some(control) = self.control() else { return Metrics::default() };
        let view = control.view();
        let numbers = |ids: &[ReplicaId]| ids.iter().map(|id| id.0).collect();
        Metrics {
            node: self.id().0,
            role: self.standing(self.id(), &view).role,
            term: view.term,
            leader: view.leader.map_or(0, |leader| leader.0),
            commit: view.commit,
            voters: numbers(&view.members.voters),
            learners: numbers(&view.members.learners),
            is_joint: view.members.is_joint(),
            can_lose_one: (view.leader == Some(self.id())).then(|| self.can_lose_one(&view)),
            standing: match view.compared.standing {
                consensus::Standing::Serves => "serves",
                consensus::Standing::Doubted => "doubted",
                consensus::Standing::Rebuilt(_) => "rebuilt",
            },
            behaviour: self.behaviour(),
            replicas: view.members.all().map(|id| self.replica(id, &view)).collect(),
        }
    }
}
