//! The commands of `pando cluster`, as the node executes them that they are sent to. What only the leader can do is passed on.

use super::arguments::node;
use super::node::{LOOK, Node};
use consensus::{ReplicaId, View};
use dsa::journal::Journal as _;
use peers::{Address, Caller};
use serde_json::{Value, json};

/// How often a command is passed on, at most: leaders may change meanwhile.
const PASSES_MAX: u64 = 3;

impl Node {
    /// Executes a command, an object with its name.
    pub(super) fn execute(&self, caller: Caller, body: &[u8]) -> Result<Value, String> {
        let command: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let lead: fn(&Node, &Value) -> Result<Value, String> =
            match command["command"].as_str().unwrap_or_default() {
                "ready" => return Ok(self.ready()),
                "token" => return self.token().map(|token| json!({ "token": token.to_string() })),
                "applied" => return self.applied().map(|entry| json!({ "entry": entry })),
                "renew" => return self.renewed(ReplicaId(caller.node), &command),
                "announce" => return self.announced(ReplicaId(caller.node), command),
                "status" => |node, _| Ok(node.status()),
                "move-leader" => Node::move_leader,
                "drain" => Node::drain,
                "remove" => Node::remove,
                "replace" => Node::replace,
                "upgrade-finish" => Node::finish_upgrade,
                other => return Err(format!("this version has no command `{other}`")),
            };
        let done = self.at_leader(&command).map_or_else(|| lead(self, &command), Ok);
        // Another node may lead by now, and goes on.
        done.or_else(|why| self.at_leader(&command).ok_or(why))
    }

    /// May clients be sent to this node? It has a leader, is a member, is not drained, and its directory is not known to be
    /// wrong.
    fn ready(&self) -> Value {
        let view = self.control().map(consensus::Control::view).unwrap_or_default();
        let why = if view.leader.is_none() {
            Some("the node knows of no leader")
        } else if !view.members.has(self.id()) {
            Some("the node is no member")
        } else if view.compared.standing.is_rebuilt() {
            Some("the directory of the node is not what the others have: it is made anew")
        } else if super::Facts::of(&view.members, self.id()).drained {
            Some("the node is drained")
        } else {
            None
        };
        json!({ "ready": why.is_none(), "why": why })
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
        let is_often = command["passed_on"].as_u64().is_some_and(|times| times >= PASSES_MAX);
        let leader = view.leader.filter(|leader| *leader != self.id() && !is_often)?;
        self.pass_on(&view, leader, command)
    }

    /// What another node answers to a command.
    pub(super) fn pass_on(&self, view: &View, to: ReplicaId, command: &Value) -> Option<Value> {
        let mut command = command.clone();
        command["passed_on"] = json!(command["passed_on"].as_u64().unwrap_or(0) + 1);
        self.ask(&self.addresses(view, to), &command)
    }

    /// What the node at one of these addresses answers.
    pub(super) fn ask(&self, addresses: &[Address], command: &Value) -> Option<Value> {
        let body = command.to_string();
        let ask = |address| peers::client::command(&self.identity(), address, body.as_bytes()).ok();
        serde_json::from_slice(&addresses.iter().find_map(ask)?).ok()
    }

    fn move_leader(&self, command: &Value) -> Result<Value, String> {
        let (to, (_, view)) = (node(command)?, self.leading()?);
        if !view.members.voters.contains(&to) {
            return Err(format!("node {to} has no vote"));
        }
        if super::Facts::of(&view.members, to).drained {
            return Err(format!("node {to} is drained: `pando cluster drain {to} --undo` ends that"));
        }
        if view.compared.wrong.contains(&to) {
            return Err(format!("the directory of node {to} is made anew: it cannot lead before"));
        }
        if to != self.id() {
            self.transfer(to)?;
        }
        Ok(json!({ "leader": to.0 }))
    }
}
