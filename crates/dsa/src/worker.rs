//! One IO thread's part of the agent: caches and scratch memory that are used again by every request.

use crate::engine::Dsa;
use crate::entry_writer::Templates;
use crate::monitor::Counters;
use env::clock::Now;
use model::Entry;
use std::sync::Arc;
use store::search::evaluate::Evaluator;
use store::{DnCache, Reader};

/// A thread's worker. Serves all sessions of its thread, one request at a time.
pub struct Worker {
    pub(crate) dsa: Arc<Dsa>,
    /// Rests between bundles.
    pub(crate) reader: Reader,
    /// Of the system shard.
    pub(crate) system_reader: Reader,
    pub(crate) scratch: Scratch,
    pub(crate) counters: Arc<Counters>,
    pub(crate) now: Now,
}

/// Memory that is used again, and what one thread remembers.
pub(crate) struct Scratch {
    pub(crate) evaluator: Evaluator,
    pub(crate) templates: Templates,
    pub(crate) system_templates: Templates,
    pub(crate) system_cache: DnCache,
    /// Keys of the RDNs of a group of requests.
    pub(crate) keys: Vec<u8>,
    pub(crate) entry: Entry,
}

impl Worker {
    /// A worker for one thread; `None` when there are too many.
    pub fn new(dsa: &Arc<Dsa>) -> Option<Worker> {
        Some(Worker {
            dsa: Arc::clone(dsa),
            reader: Reader::register(&dsa.shard)?,
            system_reader: Reader::register(dsa.system.shard())?,
            scratch: Scratch {
                evaluator: Evaluator::default(),
                templates: Templates::default(),
                system_templates: Templates::default(),
                system_cache: DnCache::default(),
                keys: Vec::new(),
                entry: Entry::new(),
            },
            counters: dsa.monitor.register(),
            now: Now::default(),
        })
    }

    /// Takes the time; to be called before each bundle.
    pub fn tick(&mut self, now: Now) {
        self.now = now;
    }
}
