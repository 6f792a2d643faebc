//! The commands of `pando cluster`, as the node executes them that they are sent to. What only the leader can do is passed on, once.

use super::facts::Facts;
use super::node::{LOOK, Node};
use super::standing::Standing;
use consensus::{Change, ReplicaId, Request, View};
use dsa::journal::Journal as _;
use env::clock::Clock as _;
use peers::Caller;
use serde_json::{Value, json};
use std::sync::PoisonError;

/// A node has caught up that lacks no more entries than this, and none that is older than this many seconds.
const CAUGHT_UP: u64 = 5_000;
const CAUGHT_UP_S: f64 = 1.0;

impl Node {
    /// Executes a command, an object with its name.
    pub(super) fn execute(&self, caller: Caller, body: &[u8]) -> Result<Value, String> {
        let command: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let node = || command["node"].as_u64().map(ReplicaId).ok_or("which node?".to_owned());
        match command["command"].as_str().unwrap_or_default() {
            "ready" => Ok(json!({ "ready": self.is_ready() })),
            "token" => self.token().map(|token| json!({ "token": token.to_string() })),
            "applied" => self.applied().map(|entry| json!({ "entry": entry })),
            "status" => Ok(self.at_leader(&command).unwrap_or_else(|| self.status())),
            "move-leader" => match self.at_leader(&command) {
                Some(answer) => Ok(answer),
                None => self.move_leader(node()?),
            },
            "remove" => match self.at_leader(&command) {
                Some(answer) => Ok(answer),
                None => self.remove(node()?),
            },
            "renew" => self.renewed(ReplicaId(caller.node), &command),
            other => Err(format!("this version has no command `{other}`")),
        }
    }

    /// May this node serve? It has a leader, and is a member.
    fn is_ready(&self) -> bool {
        self.control().is_some_and(|control| {
            let view = control.view();
            view.leader.is_some() && view.members.all().any(|id| id == self.id())
        })
    }

    /// The last entry that this node has applied, when it has all that was acknowledged anywhere before it was asked. It is committed, and on
    /// this node's disk.
    fn applied(&self) -> Result<u64, String> {
        let queue = self.queue().ok_or("this node has not recovered its directory yet")?;
        let barrier = queue.barrier().ok_or("this node has no log")?;
        let is_passed = loop {
            match barrier.is_passed() {
                Some(is_passed) => break is_passed,
                None => env::poll::pause(LOOK),
            }
        };
        match is_passed {
            true => Ok(queue.status().applied().0),
            false => Err("no majority of the cluster's nodes answers".to_owned()),
        }
    }

    /// What the leader answers, if another node leads and answers.
    fn at_leader(&self, command: &Value) -> Option<Value> {
        let view = self.control()?.view();
        let leader = view.leader.filter(|leader| *leader != self.id() && command["passed_on"].is_null())?;
        let mut command = command.clone();
        command["passed_on"] = json!(true);
        let body = command.to_string();
        let addresses = Facts::of(&view.members, leader).peer;
        let ask = |address| peers::client::command(&self.identity(), address, body.as_bytes()).ok();
        let answer = addresses.iter().find_map(ask)?;
        serde_json::from_slice(&answer).ok()
    }

    fn status(&self) -> Value {
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
            "nodes": nodes,
        })
    }

    fn status_of(&self, id: ReplicaId, view: &View) -> Value {
        let Standing { role, lag, fetches } = self.standing(id, view);
        let facts = Facts::of(&view.members, id);
        json!({
            "id": id.0,
            "role": role,
            "address": facts.urls().next(),
            "peer": facts.peer.first().map(ToString::to_string),
            "lag_commands": lag.map(|(commands, _)| commands),
            "lag_seconds": lag.map(|(_, seconds)| seconds),
            "version": facts.version,
            "certificate_days": self.days_left(&facts),
            "fetches_snapshot": fetches,
        })
    }

    /// Has another node what the others have, as a leader sees it, or nearly?
    pub(super) fn has_caught_up(&self, id: ReplicaId, view: &View) -> bool {
        let now_ms = self.clock.monotonic_ns() / 1_000_000;
        let lags = self.lags.lock().unwrap_or_else(PoisonError::into_inner);
        view.others.iter().any(|other| {
            other.id == id
                && other.is_active
                && !other.fetches
                && other.matched + CAUGHT_UP >= view.commit
                && lags.seconds(now_ms, other.matched, view.commit) <= CAUGHT_UP_S
        })
    }

    /// Have all that vote caught up, and would a majority be left without any one of them?
    pub(super) fn can_lose_one(&self, view: &View) -> bool {
        let has = |id: &ReplicaId| *id == self.id() || self.has_caught_up(*id, view);
        let voters = &view.members.voters;
        let leads = view.leader == Some(self.id());
        leads && voters.len() >= 3 && !view.members.is_joint() && voters.iter().all(has)
    }

    fn move_leader(&self, to: ReplicaId) -> Result<Value, String> {
        let (control, view) = self.leading()?;
        if !view.members.voters.contains(&to) {
            return Err(format!("node {to} has no vote"));
        }
        if to != self.id() {
            let asked = control.ask(Request::Transfer(to)).map_err(|_| "too much is asked for".to_owned())?;
            self.wake();
            let refusal = || control.refusal(asked).map(|_| "this node does not lead any more".to_owned());
            self.await_view(|view| view.leader == Some(to), refusal)?;
        }
        Ok(json!({ "leader": to.0 }))
    }

    /// Takes a node out. Where it has a vote, one that has none takes its place: there are never two votes.
    fn remove(&self, gone: ReplicaId) -> Result<Value, String> {
        let (_, view) = self.leading()?;
        let members = &view.members;
        if !members.all().any(|id| id == gone) {
            return Ok(json!({ "removed": gone.0 }));
        }
        if gone == self.id() {
            return Err(format!(
                "node {gone} leads: let another one lead first, with `pando cluster move-leader`"
            ));
        }
        let mut change = Change::of(members);
        change.learners.remove(&gone);
        if change.voters.remove(&gone) {
            let next = change.learners.iter().copied().find(|id| self.has_caught_up(*id, &view));
            match next {
                Some(next) => {
                    change.learners.remove(&next);
                    change.voters.insert(next);
                }
                None if change.voters.len().is_multiple_of(2) => {
                    return Err(format!(
                        "without node {gone} there would be {} votes: join another node first, which takes its place",
                        change.voters.len()
                    ));
                }
                None => {}
            }
        }
        let is_gone =
            |members: &consensus::Members| !members.is_joint() && members.all().all(|id| id != gone);
        self.change(change, is_gone)?;
        tracing::info!(node = gone.0, "a node was removed from the cluster");
        Ok(json!({ "removed": gone.0 }))
    }
}
