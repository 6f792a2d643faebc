//! `pando cluster status`: the members, as a node sees them.

use super::facts::{Facts, replaces, wishes};
use super::node::Node;
use super::standing::Standing;
use consensus::upkeep::{Upkeep, Wishes};
use consensus::{ReplicaId, View};
use env::clock::Clock as _;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// A node has caught up that lacks no more entries than this, and none that is older than this many seconds.
const CAUGHT_UP: u64 = 5_000;
const CAUGHT_UP_S: f64 = 1.0;

impl Node {
    /// The members and how they fare.
    pub(super) fn status(&self) -> Value {
        let Some(control) = self.control() else {
            return json!({ "can_lose_one": false, "term": 0, "nodes": [], "recovers": true });
        };
        let view = control.view();
        let nodes: Vec<Value> = view.members.all().map(|id| self.status_of(id, &view)).collect();
        json!({
            "can_lose_one": self.can_lose_one(&view),
            "term": view.term,
            "joint": view.members.is_joint(),
            "cluster": self.cluster().to_string(),
            "behaviour": self.behaviour(),
            "doubted": view.compared.standing == consensus::Standing::Doubted,
            "nodes": nodes,
        })
    }

    fn status_of(&self, id: ReplicaId, view: &View) -> Value {
        let Standing { role, lag, fetches, sync_ms, clock_s } = self.standing(id, view);
        let facts = Facts::of(&view.members, id);
        json!({
            "id": id.0,
            "role": role,
            "address": facts.urls().next(),
            "peer": facts.peer.first().map(ToString::to_string),
            "lag_commands": lag.map(|(commands, _)| commands),
            "lag_seconds": lag.map(|(_, seconds)| seconds),
            "version": facts.version,
            "newest_behaviour": facts.newest,
            "certificate_days": self.days_left(&facts),
            "fetches_snapshot": fetches,
            "sync_ms": sync_ms,
            "clock_offset_seconds": clock_s,
            "rebuilt": self.is_wrong(id, view),
            "drained": facts.drained,
            "replaces": replaces(&view.members, &facts).map(|old| old.0),
            "is_replaced": self.is_replaced(&view.members, &facts),
        })
    }

    /// Is the directory of a node wrong, and made anew?
    fn is_wrong(&self, id: ReplicaId, view: &View) -> bool {
        view.compared.wrong.contains(&id) || (id == self.id() && view.compared.standing.is_rebuilt())
    }

    /// Has another node what the others have, as a leader sees it, or nearly?
    fn has_caught_up(&self, id: ReplicaId, view: &View) -> bool {
        let now_ms = self.clock.monotonic_ns() / 1_000_000;
        let lags = self.lags.lock().unwrap_or_else(PoisonError::into_inner);
        view.others.iter().any(|other| {
            other.id == id
                && other.is_active
                && !other.fetches
                && !self.is_wrong(id, view)
                && other.matched + CAUGHT_UP >= view.commit
                && lags.seconds(now_ms, other.matched, view.commit) <= CAUGHT_UP_S
        })
    }

    /// What this node decides by if it leads, with what an operator wants of the members in this view.
    pub(super) fn with_upkeep<T>(&self, view: &View, decide: impl FnOnce(Upkeep<'_>) -> T) -> T {
        self.with_wishes(view, &wishes(&view.members), decide)
    }

    /// The same, with wishes that are known.
    pub(super) fn with_wishes<T>(
        &self,
        view: &View,
        wishes: &Wishes,
        decide: impl FnOnce(Upkeep<'_>) -> T,
    ) -> T {
        let others = view.others.iter().map(|other| other.id).filter(|id| self.has_caught_up(*id, view));
        let caught_up: BTreeSet<ReplicaId> = others.chain([self.id()]).collect();
        decide(Upkeep { own: self.id(), view, wishes, caught_up: &caught_up })
    }

    /// Have all that vote caught up, and would a majority be left without any one of them?
    pub(super) fn can_lose_one(&self, view: &View) -> bool {
        let has = |id: &ReplicaId| *id == self.id() || self.has_caught_up(*id, view);
        let voters = &view.members.voters;
        let leads = view.leader == Some(self.id());
        let is_sure = view.compared.standing == consensus::Standing::Serves;
        leads && is_sure && voters.len() >= 3 && !view.members.is_joint() && voters.iter().all(has)
    }
}
