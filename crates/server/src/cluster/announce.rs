//! What a node says of itself when it starts: where it is reached, which version it has, which versions of the behaviour its
//! program applies, and that it is not drained any more. The leader puts
//! that into the log, if it is new. Any other node passes it on, and uses the new address at once: it may be needed to elect a leader.

use super::arguments::node;
use super::facts::{self, Facts};
use super::node::{NOT_RECOVERED, Node};
use consensus::{ReplicaId, View};
use peers::Address;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two rounds in which it is said to all that may answer: first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

impl Node {
    /// Says it until a leader has heard it, or the server `ends`.
    pub(super) fn announce(&self, ends: &AtomicBool) {
        let identity = self.identity();
        let [peer, ldap] = [identity.peer_addresses(), identity.ldap_addresses()].map(texts);
        let (version, newest) = (env!("CARGO_PKG_VERSION"), self.versions.newest);
        let command = json!({
            "command": "announce", "peer": peer, "ldap": ldap, "version": version, "newest": newest,
        });
        let mut again = AGAIN.0;
        while !ends.load(Ordering::Acquire) && !self.is_heard(&command) {
            env::poll::pause(again);
            again = (2 * again).min(AGAIN.1);
        }
    }

    /// Says it to all others: a node that leads and one that follows must know of each other. Has a leader heard it?
    fn is_heard(&self, command: &Value) -> bool {
        let Some(control) = self.control() else { return false };
        let view = control.view();
        let mut others: Vec<ReplicaId> = view.members.all().filter(|id| *id != self.id()).collect();
        others.sort_by_key(|id| view.leader != Some(*id));
        let mut is_heard = false;
        for id in others {
            let answer = self.ask(&self.addresses(&view, id), command).unwrap_or_default();
            for id in view.members.all().filter(|id| *id != self.id()) {
                let said = Facts::decode(answer["members"][id.to_string()].to_string().as_bytes());
                self.note_move(id, said.peer, &view);
            }
            is_heard |= answer["announced"].is_u64();
        }
        is_heard || (self.leading().is_ok() && self.announced(self.id(), command.clone()).is_ok())
    }

    /// A node that has started says this.
    ///
    /// # Errors
    /// In words, why no leader has heard it.
    pub(super) fn announced(&self, from: ReplicaId, mut command: Value) -> Result<Value, String> {
        let control = self.control().ok_or(NOT_RECOVERED)?;
        let id = match command["passed_on"].is_null() {
            true => from,
            false => node(&command)?,
        };
        let said = Facts::decode(command.to_string().as_bytes());
        let view = control.view();
        if !view.members.has(id) {
            return Err(format!("node {id} is no member"));
        }
        self.note_move(id, said.peer.clone(), &view);
        if let Some(leader) = view.leader.filter(|leader| *leader != self.id()) {
            if !command["passed_on"].is_null() {
                return Err("this node does not lead".to_owned());
            }
            command["node"] = json!(id.0);
            let answer = self.pass_on(&view, leader, &command);
            return answer.ok_or_else(|| format!("node {leader} leads, and does not answer"));
        }
        self.leading()?;
        let view = self.change(|view| {
            let (peer, ldap, version) = (said.peer.clone(), said.ldap.clone(), said.version.clone());
            let edit = |facts| Facts { peer, ldap, version, newest: said.newest, drained: false, ..facts };
            Ok(facts::edited(&view.members, id, edit))
        })?;
        let peer = |id| json!({ "peer": texts(&self.addresses(&view, id)) });
        let others = view.members.all().filter(|other| *other != id);
        let members: BTreeMap<String, Value> = others.map(|id| (id.to_string(), peer(id))).collect();
        Ok(json!({ "announced": id.0, "members": members }))
    }

    fn note_move(&self, id: ReplicaId, to: Vec<Address>, view: &View) {
        if id != self.id() {
            self.moves.note(id, to, Facts::of(&view.members, id).peer);
        }
    }

    /// Where a member is reached.
    pub(super) fn addresses(&self, view: &View, id: ReplicaId) -> Vec<Address> {
        if id == self.id() {
            return self.identity().peer_addresses().to_vec();
        }
        self.moves.of(&view.members).remove(&id).unwrap_or_else(|| Facts::of(&view.members, id).peer)
    }
}

fn texts(addresses: &[Address]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}
