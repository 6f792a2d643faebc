//! An agent is made from its configuration. Nothing below needs this: it knows all parts.
//!
//! The order of parts is the order of their needs: names are normalised by the schema, settings are read, the server's own entries made from both.

use crate::access::Access;
use crate::account_times::AccountTimes;
use crate::behaviour::NEWEST;
use crate::change_log::ChangeLog;
use crate::client_memory::ClientMemory;
use crate::config::Config;
use crate::constraints::Constraints;
use crate::default_referral::DefaultReferral;
use crate::engine::Dsa;
use crate::events::Events;
use crate::expiry::Expiry;
use crate::followers::FollowerLimits;
use crate::held::Held;
use crate::identities::Identities;
use crate::indexing::Indexing;
use crate::lifetimes::Lifetimes;
use crate::limits::{self, Limits, MemoryNotReserved};
use crate::monitor::Monitor;
use crate::offer::Offer;
use crate::password::nobody::Nobody;
use crate::password::policies::Policies;
use crate::password::{Failures, Forms};
use crate::peers::Peers;
use crate::reads::ReadSettings;
use crate::settings::{Choices, Chosen};
use crate::strengths::Strengths;
use crate::system::{CONFIG_DN, ROOT_DSES, SCHEMA_CONFIG_DN, System};
use crate::throttle::Throttle;
use crate::transaction::{self, OpenCount};
use crate::{config_entry, monitor_entries, root_dse, subschema};
use env::entropy::SystemEntropy;
use model::Entry;
use model::dn::split_first;
use schema::Schema;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, OnceLock};
use store::Shard;
use store::derived::SUBSCHEMA_DN;

/// The server's own entries with what does not change, superiors first.
/// Superiors first, as adds need them.
fn own_entries(config: &Config, choices: &Choices, schema: &Schema) -> Vec<(String, Entry)> {
    // A name and an entry each; the shard puts them in.
    let mut entries = Vec::new();
    let mut add = |dn: String, fill: &dyn Fn(&mut Entry)| {
        let mut entry = Entry::new();
        fill(&mut entry);
        entries.push((dn, entry));
    };
    for offer in Offer::all() {
        let dn = ROOT_DSES[offer.number()];
        add(dn.to_owned(), &|entry| root_dse::fill(entry, schema, config, choices, offer));
    }
    add(SUBSCHEMA_DN.to_owned(), &|entry| subschema::fill(entry, schema, config.schema_since_ms));
    add(CONFIG_DN.to_owned(), &|entry| config_entry::fill(entry, schema, config));
    add(SCHEMA_CONFIG_DN.to_owned(), &|entry| config_entry::fill_schema(entry, schema));
    add(config_entry::NODE_DN.to_owned(), &|entry| config_entry::fill_node(entry, schema));
    for item in monitor_entries::all() {
        add(item.dn(), &|entry| item.fill(entry, schema, config));
    }
    entries
}

impl Dsa {
    /// An agent over an empty directory.
    ///
    /// # Errors
    /// When memory cannot be reserved or the configuration does not fit the schema.
    /// For a directory in memory, or one that a bulk load or a restore fills.
    pub fn new(config: Config, schema: Arc<Schema>) -> io::Result<Arc<Dsa>> {
        Dsa::over(Shard::create(config.store.clone(), schema)?, config)
    }

    /// An agent over a directory that is there.
    ///
    /// # Errors
    /// As [`Dsa::new`].
    /// Names of the configuration are normalised once: a bind compares normal forms.
    pub fn over(shard: Arc<Shard>, mut config: Config) -> io::Result<Arc<Dsa>> {
        if config.settings.configured.memory_of_machine == 0 {
            config.settings.configured.memory_of_machine = config.store.memory_bytes_max;
        }
        let schema = Arc::clone(shard.schema());
        let key = |what: &str, dn: &String| {
            let mut key = Vec::new();
            let normalised = schema.normalise_dn(dn.as_bytes(), &mut key);
            let invalid = |e| io::Error::new(io::ErrorKind::InvalidInput, format!("{what} \"{dn}\": {e}"));
            normalised.map(|()| key).map_err(invalid)
        };
        // A configured name that is no DN ends the start here, with its key in the message.
        let superiors =
            std::iter::successors(config.root_dn.as_deref().map(str::as_bytes), |dn| split_first(dn).1);
        let superiors = superiors.map(|dn| key("root DN", &String::from_utf8_lossy(dn).into_owned()));
        let root_superiors = superiors.collect::<io::Result<_>>()?;
        let invalid = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
        let chosen = Chosen::new(&config.settings, &schema).map_err(invalid)?;
        let choices = chosen.now();
        let transactions = transaction::Settings::new(&choices.transactions, &schema).map_err(invalid)?;
        // The own entries are stored under the same schema, in a shard of their own.
        let system = System::create(&config, &schema, own_entries(&config, &choices, &schema))?;
        let of_rules = (&choices.access, choices.limits.search, &choices.standing);
        let access = Access::new(&config, of_rules, &schema).map_err(invalid)?;
        let policies = Policies::new(&choices.passwords);
        let reads = ReadSettings::new(choices.reads);
        let constraints = Constraints::default();
        // A directory with a log goes by what the log says ([`crate::Applier::constrain`]).
        constraints.put(choices.constraints.clone(), &shard);
        let default_referral = DefaultReferral::new(&choices.default_referral);
        let lifetimes = Lifetimes::new(choices.lifetimes, &shard);
        let followers = FollowerLimits::new(choices.followers, &shard);
        let refusals = Arc::default();
        let of_clients = &choices.limits.clients;
        let memory = shard.limit_memory(choices.memory_bytes_max());
        let memory_not_reserved = MemoryNotReserved::default();
        memory_not_reserved.note(choices.memory_bytes_max(), memory);
        let client_memory = ClientMemory::new(limits::client_memory(of_clients.memory_bytes_max, memory));
        Ok(Arc::new(Dsa {
            shard,
            access,
            system,
            monitor: Monitor::default(),
            indexing: Indexing::default(),
            chosen,
            constraints,
            transactions,
            root_superiors,
            entropy: Mutex::new(Box::new(SystemEntropy)),
            // Each of these is shared by all threads of the process and bounded by a setting.
            throttle: Throttle::new(of_clients.update_bytes_max),
            open_transactions: OpenCount::new(&client_memory),
            client_memory,
            peers: Peers::new(of_clients, &refusals),
            user_searches: Arc::default(),
            // What connections need, and who a name means, is read where it is used.
            strengths: Strengths::new(choices.security, config.offers_tls),
            config,
            intents: Arc::default(),
            held: Held::default(),
            limits: Limits::new(&choices.limits, memory),
            memory_not_reserved,
            identities: Identities::new(&choices.identities),
            password_pool: Arc::default(),
            password_forms: Forms::default(),
            failed_binds: Failures::default(),
            refusals,
            events: Events::default(),
            policies,
            reads,
            default_referral,
            lifetimes,
            followers,
            change_log: ChangeLog::default(),
            expiry: Expiry::default(),
            account_times: AccountTimes::default(),
            nobody: Nobody::default(),
            trail: OnceLock::new(),
            journal: OnceLock::new(),
            // A directory without a log has nothing that was decided otherwise.
            behaviour: AtomicU32::new(NEWEST),
            awaits_barriers: AtomicBool::new(false),
            certificates: OnceLock::new(),
            group: OnceLock::new(),
            outward: OnceLock::new(),
            tokens: OnceLock::new(),
            contexts: OnceLock::new(),
            node_settings: OnceLock::new(),
        }))
    }
}
