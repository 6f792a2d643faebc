//! The agent itself: shared by all threads, and nothing in it is written on the way of a request but counters.

use crate::access::Access;
use crate::account_times::AccountTimes;
use crate::audit::Trail;
use crate::certificates::Certificates;
use crate::chaining::Chaining;
use crate::change_log::ChangeLog;
use crate::client_memory::ClientMemory;
use crate::config::Config;
use crate::constraints::{self, Constraints};
use crate::contexts::Contexts;
use crate::default_referral::DefaultReferral;
use crate::events::Events;
use crate::expiry::Expiry;
use crate::followers::FollowerLimits;
use crate::group::Group;
use crate::held::Held;
use crate::identities::Identities;
use crate::identity::Identity;
use crate::indexing::Indexing;
use crate::journal::{Journal, Updates};
use crate::lifetimes::Lifetimes;
use crate::limits::{Limits, MemoryNotReserved};
use crate::monitor::Monitor;
use crate::node_settings::NodeSettings;
use crate::own_entry::OwnEntry;
use crate::password::nobody::Nobody;
use crate::password::policies::Policies;
use crate::password::{Dictionary, Failures, Forms, Outward, Pool};
use crate::peers::Peers;
use crate::reads::{ReadSettings, Reads, WithoutQuorum};
use crate::refusals::Refusals;
use crate::settings::Chosen;
use crate::strengths::Strengths;
use crate::system::System;
use crate::throttle::Throttle;
use crate::tokens::Tokens;
use crate::transaction::{self, Intents, OpenCount};
use crate::user_searches::UserSearches;
use ::access::AuthMethod;
use env::entropy::Entropy;
use model::ResultCode;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use store::{DnCache, EntryRef, ReadPoint, Reader, Shard};

/// A directory that can be asked.
pub struct Dsa {
    pub(crate) shard: Arc<Shard>,
    pub(crate) config: Config,
    /// The access rules.
    pub(crate) access: Access,
    /// Root DSE, subschema subentry and monitor, kept as entries of a small shard of their own.
    pub(crate) system: System,
    pub(crate) monitor: Monitor,
    pub(crate) indexing: Indexing,
    /// Settings that can be changed while it runs, as they were chosen.
    pub(crate) chosen: Chosen,
    /// What must be true of entries besides the schema.
    pub(crate) constraints: Constraints,
    /// What transactions may do, as it is in force.
    pub(crate) transactions: transaction::Settings,
    /// Normal forms of the root DN and of its superiors, in this order.
    pub(crate) root_superiors: Vec<Vec<u8>>,
    /// For salts and for passwords that the server makes.
    pub(crate) entropy: Mutex<Box<dyn Entropy + Send>>,
    pub(crate) open_transactions: Arc<OpenCount>,
    pub(crate) intents: Arc<Intents>,
    pub(crate) throttle: Arc<Throttle>,
    pub(crate) client_memory: Arc<ClientMemory>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) user_searches: Arc<UserSearches>,
    pub(crate) held: Held,
    pub(crate) limits: Limits,
    pub(crate) memory_not_reserved: MemoryNotReserved,
    pub(crate) strengths: Strengths,
    pub(crate) identities: Identities,
    pub(crate) password_pool: Arc<Pool>,
    pub(crate) password_forms: Forms,
    pub(crate) failed_binds: Failures,
    pub(crate) refusals: Arc<Refusals>,
    pub(crate) events: Events,
    pub(crate) policies: Policies,
    pub(crate) reads: ReadSettings,
    pub(crate) default_referral: DefaultReferral,
    pub(crate) lifetimes: Lifetimes,
    pub(crate) followers: FollowerLimits,
    /// The last changes as entries, if settings ask for that.
    pub(crate) change_log: ChangeLog,
    pub(crate) expiry: Expiry,
    pub(crate) account_times: AccountTimes,
    /// What counts nothing, for the time that counting takes.
    pub(crate) nobody: Nobody,
    /// What was applied, if somebody wants to know.
    pub(crate) trail: OnceLock<Arc<Trail>>,
    /// Where updates go, if they are to be durable; else they are applied where they come in.
    pub(crate) journal: OnceLock<Arc<dyn Journal>>,
    /// The version by which updates are applied ([`crate::behaviour`]).
    pub(crate) behaviour: AtomicU32,
    /// Do sessions wait for a barrier of the journal before they read?
    pub(crate) awaits_barriers: AtomicBool,
    /// What secures connections, for the monitor.
    pub(crate) certificates: OnceLock<Arc<dyn Certificates>>,
    /// The replicas that the server is one of, for the monitor.
    pub(crate) group: OnceLock<Arc<dyn Group>>,
    /// What asks other servers for clients, if some may be asked.
    pub(crate) outward: OnceLock<Outward>,
    /// What verifies access tokens, if clients may bind with some.
    pub(crate) tokens: OnceLock<Arc<dyn Tokens>>,
    /// What begins security contexts, if clients may bind by some.
    pub(crate) contexts: OnceLock<Arc<dyn Contexts>>,
    /// What has the settings of this server alone, if they can be changed.
    pub(crate) node_settings: OnceLock<Arc<dyn NodeSettings>>,
}

impl Dsa {
    /// The shard that holds the directory.
    pub fn shard(&self) -> &Arc<Shard> {
        &self.shard
    }

    /// Looks at all entries by the constraints that are in force, and gives each fault in words until it is enough: an index or a counter that is
    /// lacking, or an entry that violates a constraint, with its name.
    pub fn faults_of_constraints(&self, found: &mut dyn FnMut(String) -> ControlFlow<()>) {
        let Some(in_force) = self.constraints.now(self.behaviour()) else { return };
        let Some(mut reader) = Reader::register(&self.shard) else { return };
        _ = constraints::each_fault(&in_force, reader.pin().read_point(), found);
    }

    /// Sends all updates of sessions to a journal from now on.
    ///
    /// # Panics
    /// If there is one already.
    pub fn journal_to(&self, journal: Arc<dyn Journal>) {
        assert!(self.journal.set(journal).is_ok(), "a directory has one journal");
    }

    /// Sessions wait from now on for a barrier of the journal ([`Journal::barrier`]) before they read. To be called before there are
    /// sessions.
    pub fn await_barriers(&self) {
        self.awaits_barriers.store(true, Ordering::Relaxed);
    }

    /// The version by which updates are applied now. The applier of a directory that is logged sets it, in the order of the log; what a session
    /// decides by it before the log may meet a later one there.
    #[inline]
    pub(crate) fn behaviour(&self) -> u32 {
        self.behaviour.load(Ordering::Relaxed)
    }

    /// Whether sessions wait for barriers. It is never written while there are sessions.
    #[inline]
    pub(crate) fn awaits_barriers(&self) -> bool {
        self.awaits_barriers.load(Ordering::Relaxed)
    }

    /// Reports of all changes from now on. To be called before there is an applier.
    ///
    /// # Panics
    /// If there is a trail already.
    pub fn report_changes_to(&self, trail: Arc<Trail>) {
        assert!(self.trail.set(trail).is_ok(), "a directory has one trail");
    }

    /// The trail of changes, if there is an audit log.
    pub fn trail(&self) -> Option<&Arc<Trail>> {
        self.trail.get()
    }

    /// Shows certificates in the monitor from now on.
    ///
    /// # Panics
    /// If others are shown already.
    pub fn show_certificates(&self, certificates: Arc<dyn Certificates>) {
        assert!(self.certificates.set(certificates).is_ok(), "a server has one set of certificates");
    }

    /// Shows a group of replicas in the monitor from now on.
    ///
    /// # Panics
    /// If another one is shown already.
    pub fn show_group(&self, group: Arc<dyn Group>) {
        assert!(self.group.set(group).is_ok(), "a server is one replica");
    }

    /// Asks other servers by this from now on.
    ///
    /// # Panics
    /// When it was called before.
    pub fn chain_by(&self, chaining: Arc<dyn Chaining>) {
        assert!(self.outward.set(Outward::new(chaining)).is_ok(), "a server has one list of others");
    }

    /// May a request be one that another server answers? Two loads; where that is so, updates and reads go the long way.
    #[inline]
    pub(crate) fn chains(&self) -> bool {
        self.outward.get().is_some() && self.shard.has_referrals()
    }

    /// The requests that wait for other servers, if some may be asked.
    pub fn chain_pool(&self) -> Option<&Arc<Pool>> {
        self.outward.get().map(|outward| &outward.pool)
    }

    /// Verifies access tokens by this from now on.
    ///
    /// # Panics
    /// If others verify them already.
    pub fn verify_tokens_by(&self, tokens: Arc<dyn Tokens>) {
        assert!(self.tokens.set(tokens).is_ok(), "a server has one set of keys");
    }

    /// Begins security contexts by this from now on.
    ///
    /// # Panics
    /// When it was called before.
    pub fn begin_contexts_by(&self, contexts: Arc<dyn Contexts>) {
        assert!(self.contexts.set(contexts).is_ok(), "a server has one keytab");
    }

    /// Changes settings of this server by this from now on.
    ///
    /// # Panics
    /// When it was called before.
    pub fn change_node_settings_by(&self, settings: Arc<dyn NodeSettings>) {
        assert!(self.node_settings.set(settings).is_ok(), "a server has its settings once");
    }

    /// How often limits of clients were reached.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Limits of clients, as they are in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// That less memory is in force than was chosen.
    pub fn memory_not_reserved(&self) -> &MemoryNotReserved {
        &self.memory_not_reserved
    }

    /// How much of updates is on its way through the log.
    pub fn throttle(&self) -> &Throttle {
        &self.throttle
    }

    /// What is kept for clients.
    pub fn client_memory(&self) -> &Arc<ClientMemory> {
        &self.client_memory
    }

    /// Number of an account, by its name: the same for all spellings, and whether or not there is such an entry.
    pub(crate) fn account(&self, dn: &[u8]) -> u64 {
        let mut key = Vec::new();
        match self.shard.schema().normalise_dn(dn, &mut key) {
            Ok(()) => self.shard.value_hash(&key),
            Err(_) => self.shard.value_hash(dn),
        }
    }

    /// Takes words that are no passwords, one in each line of a text. They hold as long as the process does.
    ///
    /// # Errors
    /// If there are more than are taken.
    ///
    /// # Panics
    /// If there are some already.
    pub fn refuse_words(&self, text: &[u8]) -> Result<(), String> {
        let words = Dictionary::read(text, |word| self.shard.value_hash(word))?;
        assert!(self.policies.dictionary.set(words).is_ok(), "a server has one dictionary");
        Ok(())
    }

    /// Times of accounts that are not written yet.
    pub fn account_times(&self) -> &AccountTimes {
        &self.account_times
    }

    /// May a change of settings be proposed here, if these updates are one? It may not if others hold than those that it was made of.
    ///
    /// # Errors
    /// Code and text of the refusal.
    pub fn admit_settings(&self, updates: &mut Updates) -> Result<(), (ResultCode, String)> {
        let schema = self.shard.schema();
        updates
            .settings_change()
            .map_or(Ok(()), |change| self.chosen.admit(change, schema).map_err(Into::into))
    }

    /// By what a server knows that it reads nothing old, as it is in force.
    pub fn reads(&self) -> Reads {
        self.reads.reads()
    }

    /// What becomes of reads while no majority answers, as it is in force.
    pub fn without_quorum(&self) -> WithoutQuorum {
        self.reads.without_quorum()
    }

    /// Jobs of passwords, for threads that do nothing else.
    pub fn password_pool(&self) -> &Arc<Pool> {
        &self.password_pool
    }

    /// What an administrator must learn of.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counters that every thread keeps for itself.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// What transactions may do, as it is in force.
    pub fn transactions(&self) -> &transaction::Settings {
        &self.transactions
    }

    /// The indexes that are to come and go.
    pub fn indexing(&self) -> &Indexing {
        &self.indexing
    }

    /// Bytes of memory beyond which the directory may not grow.
    pub(crate) fn memory_bytes_max(&self) -> u64 {
        self.shard.memory_bytes_max()
    }

    /// Takes random bytes from elsewhere than the system from now on.
    pub fn draw_from(&self, entropy: impl Entropy + Send + 'static) {
        *self.entropy() = Box::new(entropy);
    }

    pub(crate) fn entropy(&self) -> MutexGuard<'_, Box<dyn Entropy + Send>> {
        // Bytes are drawn or not: nobody leaves it half done.
        self.entropy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is this the root DN?
    pub(crate) fn is_root(&self, dn: &[u8]) -> bool {
        self.is_one_of(dn, self.root_superiors.get(..1).unwrap_or_default())
    }

    /// Who the root DN is.
    pub(crate) fn root(&self) -> Identity {
        let dn = self.config.root_dn.clone().unwrap_or_default().into_bytes();
        Identity { is_root: true, ..Identity::named(dn, AuthMethod::Simple) }
    }

    /// Who has an entry.
    pub(crate) fn identity_of(
        &self,
        read_point: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        cache: &mut DnCache,
    ) -> Identity {
        let dn = read_point.dn(entry, cache);
        let is_root = self.is_root(&dn);
        Identity { is_root, entry: Some(OwnEntry::of(entry)), ..Identity::named(dn, AuthMethod::Simple) }
    }

    /// Has the root DN no password in the configuration, so that one of its entry binds?
    pub(crate) fn root_binds_by_entry(&self) -> bool {
        !self.root_superiors.is_empty() && self.config.root_password.is_none()
    }

    /// As [`Dsa::is_root`], of the DN of an update: most are known by their number of RDNs.
    pub(crate) fn names_root(&self, dn: &[u8]) -> bool {
        let rdns = 1 + dn.iter().filter(|byte| matches!(byte, b',' | b';')).count();
        let is_plain = || !dn.iter().any(|byte| matches!(byte, b'\\' | b'"'));
        (rdns == self.root_superiors.len() || (rdns > self.root_superiors.len() && !is_plain()))
            && self.is_root(dn)
    }

    /// Is this the root DN, or the name of a superior of it?
    pub(crate) fn is_root_or_above(&self, dn: &[u8]) -> bool {
        self.is_one_of(dn, &self.root_superiors)
    }

    /// Is the normal form of a name among these?
    fn is_one_of(&self, dn: &[u8], keys: &[Vec<u8>]) -> bool {
        let mut key = Vec::new();
        !keys.is_empty() && self.shard.schema().normalise_dn(dn, &mut key).is_ok() && keys.contains(&key)
    }
}
