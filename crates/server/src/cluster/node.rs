//! What the links of a node call: joins and commands.

use super::facts::{self, Facts, until_s};
use super::lags::Lags;
use super::moves::Moves;
use consensus::faults::holes;
use consensus::{Change, Control, Members, Refusal, ReplicaId, Request, View};
use dsa::behaviour::Versions;
use env::clock::{Clock as _, SystemClock};
use env::entropy::SystemEntropy;
use env::planted;
use node::commit::Queue;
use node::data::JoinFiles;
use peers::{
    Address, Authority, Caller, ClusterId, Fingerprint, Identity, JoinAnswer, JoinRequest, Member, NotDone,
    Service, Token,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

/// How long a change of members may take.
pub(super) const CHANGE_WITHIN: Duration = Duration::from_secs(10);
/// Until it is looked again whether something was done.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// What is said then.
const LATE: &str = "it was asked for, and not done within ten seconds: look at `pando cluster status`";

/// What is said while another node joins, or is given another certificate.
const OTHER_JOINS: &str = "another node joins the cluster just now: try again";

/// Says whether clients may read what a node has while no majority answers (`without-quorum`).
pub type ReadsAlone = Box<dyn Fn() -> bool + Send + Sync>;

/// What is said before there is a replica.
pub(super) const NOT_RECOVERED: &str = "this node has not recovered its directory yet: try again";

/// See the module.
pub struct Node {
    id: ReplicaId,
    cluster: ClusterId,
    /// With the present certificate.
    identity: Mutex<Arc<Identity>>,
    pub(super) authority: Arc<Authority>,
    files: JoinFiles,
    /// The versions of the behaviour that this program applies.
    pub(super) versions: Versions,
    pub(super) clock: SystemClock,
    pub(super) lags: Mutex<Lags>,
    /// There from the recovery on.
    replica: OnceLock<(Control, Arc<Queue>, ReadsAlone)>,
    /// One join at a time.
    joins: Mutex<()>,
    /// Nodes that are reached elsewhere than the log says.
    pub(super) moves: Moves,
}

/// What a node that joins gets besides its certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinBody {
    /// The files of which a directory is made.
    pub files: JoinFiles,
    /// The members.
    pub members: Vec<Member>,
    /// The one that has the snapshot to begin with.
    pub from: u64,
}

impl JoinBody {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let member = |member: &Member| {
            let addresses: Vec<_> = member.addresses.iter().map(ToString::to_string).collect();
            let certificates: Vec<_> = member.certificates.iter().map(ToString::to_string).collect();
            let [certificate, earlier] = [certificates.first(), certificates.get(1)];
            json!({ "id": member.id, "peer": addresses, "certificate": certificate, "earlier": earlier })
        };
        let members: Vec<_> = self.members.iter().map(member).collect();
        let JoinFiles { superblock, rules } = &self.files;
        let object =
            json!({ "superblock": superblock, "rules": rules, "members": members, "from": self.from });
        object.to_string().into_bytes()
    }

    /// Reads it.
    ///
    /// # Errors
    /// In words, what is missing.
    pub fn decode(bytes: &[u8]) -> Result<JoinBody, String> {
        let object: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let text = |name: &str| {
            let text = object[name].as_str().map(str::to_owned);
            text.ok_or_else(|| format!("what the cluster says has no `{name}`"))
        };
        let files = JoinFiles { superblock: text("superblock")?, rules: text("rules")? };
        let members = object["members"].as_array().map(Vec::as_slice).unwrap_or_default();
        let member = |value: &Value| {
            let facts = Facts::decode(value.to_string().as_bytes());
            let (id, certificates) = (value["id"].as_u64()?, facts.certificates().collect());
            Some(Member { id, addresses: facts.peer, certificates })
        };
        let from = object["from"].as_u64().ok_or("what the cluster says has no `from`")?;
        Ok(JoinBody { files, members: members.iter().filter_map(member).collect(), from })
    }
}

impl Node {
    /// Of a directory that belongs to a node.
    pub fn new(
        identity: Identity,
        authority: Arc<Authority>,
        (files, versions): (JoinFiles, Versions),
        clock: SystemClock,
    ) -> Node {
        let (lags, replica, joins, moves) = Default::default();
        let (id, cluster) = (ReplicaId(identity.node()), identity.cluster());
        let identity = Mutex::new(Arc::new(identity));
        Node { id, cluster, identity, authority, files, versions, clock, lags, replica, joins, moves }
    }

    /// The members as links are to know them: where they are, also if the log has not heard of it.
    pub fn linked(&self, members: &Members) -> Vec<Member> {
        let mut linked: Vec<Member> = members.all().map(|id| facts::linked(members, id)).collect();
        for (id, addresses) in self.moves.of(members) {
            linked
                .iter_mut()
                .filter(|member| member.id == id.0)
                .for_each(|member| member.addresses = addresses.clone());
        }
        linked
    }

    /// The replica is there: what is asked of it, where its committer is woken, and whether clients may read what it has while no majority answers.
    ///
    /// # Panics
    /// If there is one already.
    pub fn begin(&self, control: Control, queue: Arc<Queue>, reads_alone: ReadsAlone) {
        assert!(self.replica.set((control, queue, reads_alone)).is_ok(), "a node has one replica");
    }

    /// May clients read what this node has while no majority answers?
    pub(super) fn reads_alone(&self) -> bool {
        self.replica.get().is_some_and(|(_, _, reads_alone)| reads_alone())
    }

    /// Something came from others.
    pub fn wake(&self) {
        if let Some((_, queue, _)) = self.replica.get() {
            queue.wake();
        }
    }

    /// What is asked of the replica, once it is there.
    pub(super) fn control(&self) -> Option<&Control> {
        self.replica.get().map(|(control, ..)| control)
    }

    /// Where the committer of the replica finds updates, and who wants to read.
    pub(super) fn queue(&self) -> Option<&Queue> {
        self.replica.get().map(|(_, queue, _)| &**queue)
    }

    /// This node.
    pub fn id(&self) -> ReplicaId {
        self.id
    }

    /// The cluster.
    pub(super) fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// This node, with its present certificate.
    pub(super) fn identity(&self) -> Arc<Identity> {
        Arc::clone(&self.identity.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// It has another certificate.
    pub(super) fn set_identity(&self, identity: Identity) {
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(identity);
    }

    /// How the replica fares, if it leads.
    ///
    /// # Errors
    /// In words, which node leads.
    pub(super) fn leading(&self) -> Result<(&Control, View), String> {
        let control = self.control().ok_or(NOT_RECOVERED)?;
        let view = control.view();
        match view.leader {
            Some(leader) if leader == self.id() => Ok((control, view)),
            Some(leader) => {
                let at = Facts::of(&view.members, leader).peer;
                let at = at.first().map_or(String::new(), |address| format!(" ({address})"));
                Err(format!("node {leader}{at} leads the cluster, and this is node {}", self.id()))
            }
            None => Err("no node leads the cluster now: try again".to_owned()),
        }
    }

    /// Changes members until `next`, which is asked what is still to be changed, says that it is done. Returns the view in which it is.
    ///
    /// # Errors
    /// In words, why not. What `next` says is final.
    pub(super) fn change(
        &self,
        next: impl FnMut(&View) -> Result<Option<Change>, String>,
    ) -> Result<View, NotDone> {
        self.change_within(CHANGE_WITHIN, next)
    }

    /// The same, in this time at most.
    pub(super) fn change_within(
        &self,
        within: Duration,
        mut next: impl FnMut(&View) -> Result<Option<Change>, String>,
    ) -> Result<View, NotDone> {
        let until_ns = self.clock.monotonic_ns() + within.as_nanos() as u64;
        let late = || NotDone::Passing(LATE.to_owned());
        let mut why = late();
        while self.clock.monotonic_ns() < until_ns {
            // An election may be in progress.
            let knows_leader = |view: &View| view.leader.is_some();
            let left = Duration::from_nanos(until_ns.saturating_sub(self.clock.monotonic_ns()));
            self.await_view(left, knows_leader, || None).map_err(NotDone::Passing)?;
            let (control, view) = self.leading().map_err(NotDone::Passing)?;
            if !view.members.is_joint() {
                let Some(change) = next(&view)? else { return Ok(view) };
                let asked = Request::Change(change, view.members_index);
                let asked = control.ask(asked).map_err(refused)?;
                self.wake();
                let refusal = self.await_change(control, asked, view.members_index, until_ns);
                match refusal.map(refused) {
                    // Somebody was faster, or this term has just begun.
                    Some(again @ NotDone::Passing(_)) => why = again,
                    Some(stays) => return Err(stays),
                    None => why = late(),
                }
            }
            env::poll::pause(LOOK);
        }
        Err(why)
    }

    /// Waits until the members are others than at this index. Why that was refused, if it was.
    fn await_change(&self, control: &Control, asked: u64, index: u64, until_ns: u64) -> Option<Refusal> {
        while self.clock.monotonic_ns() < until_ns {
            let view = control.view();
            let refusal = control.refusal(asked);
            if view.members_index != index || view.leader != Some(self.id()) || refusal.is_some() {
                return refusal;
            }
            env::poll::pause(LOOK);
        }
        // It may have come during the last pause.
        control.refusal(asked)
    }

    /// Waits until the view is as wanted.
    ///
    /// # Errors
    /// In words, why it is not.
    pub(super) fn await_view(
        &self,
        within: Duration,
        is_so: impl Fn(&View) -> bool,
        refusal: impl Fn() -> Option<String>,
    ) -> Result<View, String> {
        let control = self.control().ok_or(NOT_RECOVERED)?;
        let until_ns = self.clock.monotonic_ns() + within.as_nanos() as u64;
        while self.clock.monotonic_ns() < until_ns {
            let view = control.view();
            if is_so(&view) {
                return Ok(view);
            }
            if let Some(refusal) = refusal() {
                return Err(refusal);
            }
            env::poll::pause(LOOK);
        }
        Err(LATE.to_owned())
    }

    pub(super) fn lock_joins(&self) -> MutexGuard<'_, ()> {
        self.joins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A token for one more node.
    pub(super) fn token(&self) -> Result<Token, String> {
        let view = self.control().ok_or(NOT_RECOVERED)?.view();
        // The leader first: it alone takes nodes.
        let mut ids: Vec<ReplicaId> = view.leader.into_iter().collect();
        ids.extend(view.members.all().filter(|id| Some(*id) != view.leader));
        let addresses: Vec<Address> = ids
            .into_iter()
            .flat_map(|id| Facts::of(&view.members, id).peer)
            .take(peers::ADDRESSES_MAX)
            .collect();
        if addresses.is_empty() {
            return Err("no member has an address".to_owned());
        }
        Ok(Token::issue(&self.authority, &addresses, self.clock.wall_ms() / 1000, &mut SystemEntropy))
    }
}

/// Why something was not done.
fn refused(refusal: Refusal) -> NotDone {
    let passing = |why: &str| NotDone::Passing(why.to_owned());
    match refusal {
        Refusal::NotLeader => passing("this node has ceased to lead, or has just begun to: try again"),
        Refusal::OtherChange => passing("another change of members is in progress: try again"),
        Refusal::Full => passing("the log has no room for it now: try again"),
        Refusal::Members => "there would be no node that votes, or too many nodes".into(),
        Refusal::Leads => {
            "this node leads: let another one lead first, with `pando cluster move-leader`".into()
        }
    }
}

/// The number of the node that joins with this token and this key: later than that of each node that there ever was.
///
/// # Errors
/// The token was used for another key, or for a node that was removed.
pub(super) fn number_for(members: &Members, token: &str, key: &str) -> Result<ReplicaId, String> {
    let counts = |id: &ReplicaId| !planted::is(holes::REPLICA_ID_USED_AGAIN) || members.has(*id);
    let known: Vec<(ReplicaId, Facts)> = facts::known(members).filter(|(id, _)| counts(id)).collect();
    match known.iter().find(|(_, facts)| facts.token == token) {
        Some((id, facts)) if facts.key == key && members.has(*id) => Ok(*id),
        Some((id, _)) => Err(format!("the token was used: it has become node {id}")),
        None => Ok(ReplicaId(known.iter().map(|(id, _)| id.0).max().unwrap_or(0) + 1)),
    }
}

/// Refuses a node that would be reached where another member is: links would reach one or the other. It may take the place of that very member.
///
/// # Errors
/// Another member has one of these addresses.
pub(super) fn no_other_is_at(
    members: &Members,
    id: ReplicaId,
    peer: &[Address],
    replaces: Option<ReplicaId>,
) -> Result<(), String> {
    let others = facts::known(members)
        .filter(|(other, _)| members.has(*other) && *other != id && Some(*other) != replaces);
    for (other, facts) in others {
        if let Some(address) = peer.iter().find(|address| facts.peer.contains(address)) {
            return Err(format!(
                "{address} is the address of node {other}: give this one another, or remove node {other} first"
            ));
        }
    }
    Ok(())
}

impl Service for Node {
    fn join(&self, token: &Token, request: JoinRequest) -> Result<JoinAnswer, NotDone> {
        let key = request.key().ok_or("the request for a certificate cannot be read")?.to_string();
        let token = token.name();
        // Calls that wait keep others waiting: the node that joins asks again.
        let _one = match self.joins.try_lock() {
            Ok(one) => one,
            Err(TryLockError::Poisoned(one)) => one.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(NotDone::Passing(OTHER_JOINS.to_owned())),
        };
        let JoinRequest { request, peer_addresses: peer, ldap_addresses: ldap, version, behaviours } =
            request;
        let (oldest, newest) = behaviours;
        if self.behaviour() == 0 {
            return Err(NotDone::Passing(NOT_RECOVERED.to_owned()));
        }
        self.must_be_known_by(Versions { oldest, newest })?;
        let now_s = self.clock.wall_ms() / 1000;
        let mut issued = None;
        // The token is used, for this key, before there is a certificate outside.
        let view = self.change(|view| {
            if let Some((id, facts, _)) = &issued
                && Facts::of(&view.members, *id) == *facts
            {
                return Ok(None);
            }
            let id = number_for(&view.members, &token, &key)?;
            let certificate = self.authority.issue(&request, id.0, now_s, &mut SystemEntropy);
            let certificate = certificate.map_err(|error| error.to_string())?;
            let known = Facts::of(&view.members, id);
            let replaces = facts::replaced_by(&view.members, &token).or(known.replaces);
            no_other_is_at(&view.members, id, &peer, replaces)?;
            let facts = Facts {
                peer: peer.clone(),
                ldap: ldap.clone(),
                key: key.clone(),
                token: token.clone(),
                version: version.clone(),
                newest: Some(newest),
                replaces,
                // With the certificate that an earlier try got: its answer may have come.
                ..known
            };
            let facts = facts.renewed(Fingerprint::of(&certificate), until_s(&certificate));
            let mut change = facts::change(&view.members, id, &facts);
            if !change.voters.contains(&id) {
                change.learners.insert(id);
            }
            issued = Some((id, facts, certificate));
            Ok(Some(change))
        })?;
        let (id, _, certificate) = issued.ok_or("nothing was changed")?;
        tracing::info!(node = id.0, "a node joins the cluster");
        let body =
            JoinBody { files: self.files.clone(), members: self.linked(&view.members), from: self.id().0 };
        Ok(JoinAnswer::new(&self.authority, id.0, certificate, body.encode()))
    }

    fn command(&self, caller: Caller, body: &[u8]) -> Vec<u8> {
        let answer = self.execute(caller, body).unwrap_or_else(|error| json!({ "error": error }));
        answer.to_string().into_bytes()
    }
}
