//! Renewal of the certificate of this node, when half of its time is over. The key stays, and the CA's key is here. The steps are such that a start
//! goes on behind the last that was done:
//!
//! 1. the next certificate is on the disk, beside the present one;
//! 2. the leader puts it into the log: the members take both;
//! 3. this node has heard of that, and the next certificate is the present one.

use super::facts::{self, Facts, until_s};
use super::node::Node;
use consensus::{ReplicaId, View};
use env::clock::Clock as _;
use env::disk::RealDisk;
use env::entropy::SystemEntropy;
use peers::{Fingerprint, Identity, Peers};
use serde_json::{Value, json};
use std::path::Path;

/// Milliseconds between two looks; until it is tried again; from step 2 to step 3.
const LOOK_APART_MS: u64 = 60_000;
const AGAIN_MS: u64 = 5_000;
const HEARD_MS: u64 = 500;
/// Seconds of a day.
const DAY_S: u64 = 24 * 60 * 60;

/// See the module.
#[derive(Default)]
pub(super) struct Renewal {
    due_ms: u64,
    /// Why it failed last.
    failed: Option<String>,
}

impl Renewal {
    /// Looks whether something is to be done, and does it. A leader that does not answer is waited for, for some seconds.
    pub(super) fn step(&mut self, node: &Node, folder: &Path, links: &Peers, view: &View, now_ms: u64) {
        if now_ms < self.due_ms {
            return;
        }
        let (pause_ms, failed) = match node.renew(folder, links, view) {
            Ok(is_asked) => (if is_asked { HEARD_MS } else { LOOK_APART_MS }, None),
            Err(error) => (AGAIN_MS, Some(error)),
        };
        // One line for a reason, not one for each time.
        if let Some(error) = failed.as_ref().filter(|_| failed != self.failed) {
            tracing::warn!("the certificate of this node could not be renewed: {error}");
        }
        (self.due_ms, self.failed) = (now_ms + pause_ms, failed);
    }
}

impl Node {
    /// Takes the next step. Was the leader asked, so that another one follows?
    fn renew(&self, folder: &Path, links: &Peers, view: &View) -> Result<bool, String> {
        let (identity, now_s) = (self.identity(), self.clock.wall_ms() / 1000);
        if !identity.holder().should_renew(i64::try_from(now_s).unwrap_or(i64::MAX)) {
            return Ok(false);
        }
        let next = identity.next_certificate(&RealDisk, folder, &self.authority, now_s, &mut SystemEntropy);
        let next = next.map_err(|error| error.to_string())?;
        let (fingerprint, until_s) = (Fingerprint::of(&next), until_s(&next));
        if Facts::of(&view.members, self.id()).certificate == Some(fingerprint) {
            let mut renewed = Identity::load(&RealDisk, folder).map_err(|error| error.to_string())?;
            renewed.renew(&RealDisk, folder, next).map_err(|error| error.to_string())?;
            links.renew(&renewed).map_err(|error| error.to_string())?;
            self.set_identity(renewed);
            let days = until_s.saturating_sub(now_s) / DAY_S;
            tracing::info!(days, "the certificate of this node was renewed");
            return Ok(false);
        }
        let command = json!({ "command": "renew", "certificate": fingerprint.to_string(), "until": until_s });
        let answer = match view.leader {
            Some(leader) if leader == self.id() => self.renewed(leader, &command)?,
            Some(leader) => {
                let answer = self.ask(&self.addresses(view, leader), &command);
                answer.ok_or_else(|| format!("node {leader} leads, and does not answer"))?
            }
            None => return Err("no node leads the cluster now".to_owned()),
        };
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(true),
        }
    }

    /// A member is to have another certificate: the leader puts it into the log, beside the present one.
    ///
    /// # Errors
    /// In words, why not.
    pub(super) fn renewed(&self, id: ReplicaId, command: &Value) -> Result<Value, String> {
        let said = Facts::decode(command.to_string().as_bytes());
        let certificate = said.certificate.ok_or("which certificate?")?;
        let _one = self.lock_joins();
        self.change(|view| {
            Ok(facts::edited(&view.members, id, |facts| facts.renewed(certificate, said.until_s)))
        })?;
        Ok(json!({ "renewed": id.0 }))
    }

    /// Whole days until the certificate of a member ends, if that is known.
    pub(super) fn days_left(&self, facts: &Facts) -> Option<u64> {
        let left_s = facts.until_s.saturating_sub(self.clock.wall_ms() / 1000);
        (facts.until_s > 0).then_some(left_s / DAY_S)
    }
}
