//! `pando cluster replace`: a node that joins with a certain token takes the place of another one, when it has caught up. That it is to do so
//! stands in the log with the members; the leader does it.

use super::arguments::node;
use super::facts::{self, Facts, Replacement, known, replaces};
use super::node::Node;
use consensus::{Members, ReplicaId};
use env::clock::Clock as _;
use serde_json::{Value, json};

impl Node {
    /// Orders another node in place of one, or undoes that. The answer has the token with which the other one joins.
    pub(super) fn replace(&self, command: &Value) -> Result<Value, String> {
        let old = node(command)?;
        if command["undo"] == true {
            return self.call_off(old);
        }
        let token = self.token()?;
        let ordered = Replacement { token: token.name(), until_s: token.expires_s() };
        self.change(|view| {
            let members = &view.members;
            if !members.has(old) {
                return Err(format!("node {old} is no member"));
            }
            let facts = Facts::of(members, old);
            if facts.replacement.as_ref() == Some(&ordered) {
                return Ok(None);
            }
            if self.is_replaced(members, &facts) {
                let undo = format!("`pando cluster replace {old} --undo` ends that");
                return Err(format!("node {old} is to be replaced already: {undo}"));
            }
            if let Some(other) = replaces(members, &facts) {
                return Err(format!("node {old} is to take the place of node {other}: remove it instead"));
            }
            let facts = Facts { replacement: Some(ordered.clone()), ..facts };
            Ok(Some(facts::change(members, old, &facts)))
        })?;
        tracing::info!(node = old.0, "a node is to be replaced");
        Ok(json!({ "token": token.to_string() }))
    }

    /// A node stays. One that has joined in its place stays as any other.
    fn call_off(&self, old: ReplicaId) -> Result<Value, String> {
        self.change(|view| {
            let members = &view.members;
            let mut change = consensus::Change::of(members);
            for (id, facts) in known(members) {
                let is_new = facts.replaces == Some(old) && members.has(id);
                if is_new || (id == old && facts.replacement.is_some()) {
                    let replacement = facts.replacement.clone().filter(|_| id != old);
                    let facts = Facts { replaces: facts.replaces.filter(|_| !is_new), replacement, ..facts };
                    change.facts.insert(id, facts.encode());
                }
            }
            Ok(Some(change).filter(|change| !change.facts.is_empty()))
        })?;
        tracing::info!(node = old.0, "a node is not to be replaced any more");
        Ok(json!({ "stays": old.0 }))
    }

    /// Is the node of which this is known to be replaced? Not any more if the token has expired unused, or the node that joined with it is gone.
    pub(super) fn is_replaced(&self, members: &Members, facts: &Facts) -> bool {
        facts.replacement.as_ref().is_some_and(|Replacement { token, until_s }| {
            match known(members).find(|(_, facts)| facts.token == *token) {
                Some((new, _)) => members.has(new),
                None => self.clock.wall_ms() / 1000 < *until_s,
            }
        })
    }
}
