//! The commands of `pando cluster`, as the node executes them that they are sent to. What only the leader can do is passed on.

use super::arguments::node;
use super::facts::Facts;
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

    /// May clients be sent to this node? It is a member, its directory is not known to be wrong, it is not drained, and it has a leader or may be read
    /// without one.
    fn ready(&self) -> Value {
        let why = match self.control() {
            Some(control) => not_ready(&control.view(), self.id(), self.reads_alone()),
            None => Some("this node has not recovered its directory yet"),
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
        must_be_able_to_lead(&view, to)?;
        if to != self.id() {
            self.transfer(to)?;
        }
        Ok(json!({ "leader": to.0 }))
    }
}

/// Why clients are not to be sent to a node. What lasts longest comes first.
fn not_ready(view: &View, own: ReplicaId, reads_alone: bool) -> Option<&'static str> {
    let reasons = [
        // One that does not know the members yet has no leader either.
        (!view.members.has(own) && view.members.all().next().is_some(), "the node is no member"),
        (
            view.compared.standing.is_rebuilt(),
            "the directory of the node is not what the others have: it is made anew",
        ),
        (Facts::of(&view.members, own).drained, "the node is drained"),
        (
            // One that knows no members has no directory yet.
            view.leader.is_none() && !(reads_alone && view.members.has(own)),
            "the node knows of no leader",
        ),
    ];
    reasons.into_iter().find(|(is_so, _)| *is_so).map(|(_, why)| why)
}

/// A node that is to lead has a vote, is not drained, and its directory is not known to be wrong.
///
/// # Errors
/// In words, what it lacks.
fn must_be_able_to_lead(view: &View, to: ReplicaId) -> Result<(), String> {
    if !view.members.voters.contains(&to) {
        return Err(format!("node {to} has no vote"));
    }
    if Facts::of(&view.members, to).drained {
        return Err(format!("node {to} is drained: `pando cluster drain {to} --undo` ends that"));
    }
    if view.compared.wrong.contains(&to) {
        return Err(format!("the directory of node {to} is made anew: it cannot lead before"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests;
    use super::*;
    use consensus::{Compared, Control, Members, Standing};
    use node::commit::Queue;
    use std::sync::Arc;

    fn three() -> View {
        let members = Members::of_voters([1, 2, 3].map(ReplicaId));
        View { members, leader: Some(ReplicaId(1)), ..View::default() }
    }

    fn drain(view: &mut View, id: ReplicaId) {
        let facts = Facts { drained: true, ..Facts::default() };
        view.members.facts.insert(id, facts.encode());
    }

    /// What lasts is said rather than what passes.
    #[test]
    fn who_may_not_serve_says_why() {
        let (own, other) = (ReplicaId(3), ReplicaId(4));
        let mut view = three();
        assert_eq!(not_ready(&view, own, false), None);
        assert_eq!(not_ready(&View::default(), own, false), Some("the node knows of no leader"));
        view.leader = None;
        assert_eq!(not_ready(&view, own, false), Some("the node knows of no leader"));
        assert_eq!(not_ready(&view, own, true), None, "what it has may be read");
        assert!(not_ready(&View::default(), own, true).is_some(), "it has nothing yet");
        drain(&mut view, own);
        assert_eq!(not_ready(&view, own, false), Some("the node is drained"));
        view.compared.standing = Standing::Rebuilt(None);
        let anew = "the directory of the node is not what the others have: it is made anew";
        assert_eq!(not_ready(&view, own, false), Some(anew));
        assert_eq!(not_ready(&view, other, false), Some("the node is no member"));
    }

    #[test]
    fn who_cannot_lead_is_not_asked_to() {
        let mut view = three();
        let said = |view: &View, id| must_be_able_to_lead(view, ReplicaId(id)).err();
        view.compared = Compared { wrong: vec![ReplicaId(2)], ..Compared::default() };
        let anew = "the directory of node 2 is made anew: it cannot lead before";
        assert_eq!((said(&view, 2).as_deref(), said(&view, 3)), (Some(anew), None));
        drain(&mut view, ReplicaId(2));
        assert!(said(&view, 2).is_some_and(|why| why.starts_with("node 2 is drained: `pando cluster")));
        assert_eq!(said(&view, 4).as_deref(), Some("node 4 has no vote"));
    }

    /// A node that starts, and one whose replica knows nobody yet.
    #[test]
    fn a_node_that_starts_refuses_what_it_cannot_do_yet() {
        let folder = tempfile::tempdir().unwrap();
        let node = tests::node(folder.path(), 1);
        let ask = |command: Value| tests::ask(&node, &command);
        let error = |name: &str| ask(json!({ "command": name, "node": 1, "nodes": [1] }))["error"].clone();
        let not_yet = "this node has not recovered its directory yet";
        for name in ["token", "move-leader", "drain", "remove", "replace", "upgrade-finish", "announce"] {
            assert_eq!(error(name), format!("{not_yet}: try again"), "{name}");
        }
        assert_eq!(error("applied"), not_yet);
        assert_eq!(ask(json!({ "command": "ready" })), json!({ "ready": false, "why": not_yet }));
        node.begin(Control::default(), Arc::<Queue>::default(), Box::new(|| false));
        assert_eq!(error("move-leader"), "no node leads the cluster now: try again");
        assert_eq!(error("token"), "no member has an address");
        assert_eq!(error("announce"), "node 1 is no member");
        assert_eq!(error("dance"), "this version has no command `dance`");
        assert_eq!(ask(json!({ "command": "move-leader" }))["error"], "which node?");
        assert_eq!(ask(json!({ "command": "remove" }))["error"], "which nodes?");
        assert_eq!(ask(json!({ "command": "ready" }))["why"], "the node knows of no leader");
    }
}
