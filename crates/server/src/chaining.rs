//! Other servers that this one asks for its clients: which ones, with which certificates and as whom; and the threads that wait for them.

use crate::config::{ChainedServer, first_line};
use crate::pool_threads::PoolThreads;
use client::{Asking, Security, Server, Target, TargetCounts, Trust, follow};
use dsa::Dsa;
use dsa::chaining::{Answer, Chaining, Part, Question, ServerCounts};
use env::task::PlainThread;
use model::limits::CHAIN_THREADS;
use std::fs;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often connections that nobody uses are looked for.
const SWEEP: Duration = Duration::from_secs(10);

/// The servers that may be asked.
pub struct Chains(Vec<(ChainedServer, Target)>);

impl Chains {
    /// Reads what their settings name. `None` if there are none.
    ///
    /// # Errors
    /// What cannot be used, in words.
    pub fn load(servers: &[ChainedServer]) -> Result<Option<Chains>, String> {
        let loaded: Result<Vec<_>, String> =
            servers.iter().map(|server| Ok((server.clone(), target(server)?))).collect();
        Ok(Some(Chains(loaded?)).filter(|chains| !chains.0.is_empty()))
    }

    /// The number of the server that a URL names.
    fn position(&self, url: &[u8]) -> Option<usize> {
        let named = ChainedServer::place(str::from_utf8(url).ok()?)?;
        self.0.iter().position(|(server, target)| server.place == named && target.is_for(url))
    }
}

fn target(server: &ChainedServer) -> Result<Target, String> {
    let read =
        |path: &std::path::Path| fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()));
    let (is_tls, host, port) = server.place.clone();
    let security = match &server.ca_file {
        None => None,
        Some(path) => {
            let trust = Trust::read(&read(path)?).map_err(|why| format!("`{}`: {why}", path.display()))?;
            Some(Security { trust, is_start_tls: !is_tls })
        }
    };
    let credentials = match &server.identity {
        None => None,
        Some((name, path)) => {
            let password = first_line(&read(path)?).to_vec();
            if password.is_empty() {
                return Err(format!("`{}`: its first line is empty", path.display()));
            }
            Some((name.clone(), password))
        }
    };
    let target = Target::new(Server { host, port, credentials, security }, server.is_proxied);
    Ok(match &server.base {
        Some(base) => target.below(base),
        None => target,
    })
}

impl Chaining for Chains {
    fn server_of(&self, urls: &[Vec<u8>]) -> Option<u64> {
        urls.iter().find_map(|url| self.position(url)).map(|at| at as u64)
    }

    fn ask(&self, question: &Question) -> Answer {
        let Question { places, is_each, superiors, message, who, .. } = question;
        let asking = Asking { message, who, places, superiors, is_each: *is_each };
        let found = follow(&asking, &|url: &[u8]| self.position(url).map(|at| &self.0[at].1));
        let client::Followed { parts, code, text, urls, unmatched, failures } = found;
        failures
            .iter()
            .for_each(|why| tracing::warn!("a server that is asked for clients has failed: {why}"));
        let part = |client::Part { messages, bases, is_whole }| Part { messages, bases, is_whole };
        Answer { parts: parts.into_iter().map(part).collect(), code, text, urls, unmatched }
    }

    fn counts(&self) -> Vec<ServerCounts> {
        let counts = self.0.iter().map(|(server, target)| {
            let TargetCounts { asked, failed, links } = target.counts();
            let client::LinkCounts { opened, reused, idle } = links;
            ServerCounts { url: server.url(), asked, failed, opened, reused, idle }
        });
        counts.collect()
    }
}

/// The threads that ask, and the one that ends connections which nobody uses.
pub(crate) struct Askers {
    _threads: PoolThreads,
    sweeper: Option<PlainThread>,
    end: Arc<End>,
}

/// Says that it is the end.
#[derive(Default)]
struct End {
    is_ended: Mutex<bool>,
    changed: Condvar,
}

impl End {
    /// Waits for it, or until it is time to look after connections again. Is it the end?
    fn wait(&self) -> bool {
        let is_ended = self.is_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_ended, SWEEP, |is_ended| !*is_ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Askers {
    fn drop(&mut self) {
        *self.end.is_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.end.changed.notify_all();
        if let Some(Err(error)) = self.sweeper.take().map(PlainThread::join) {
            tracing::error!("{error}");
        }
    }
}

/// Starts the threads, if the agent asks other servers.
///
/// # Errors
/// When the system has no thread for them.
pub(crate) fn start(dsa: &Dsa, chains: Option<Arc<Chains>>) -> io::Result<Option<Askers>> {
    let (Some(pool), Some(chains)) = (dsa.chain_pool(), chains) else { return Ok(None) };
    let threads = PoolThreads::start(pool, "chain", CHAIN_THREADS, || ())?;
    let end = Arc::<End>::default();
    let of_sweeper = Arc::clone(&end);
    let sweeper = PlainThread::spawn("chain-idle", move || {
        while !of_sweeper.wait() {
            chains.0.iter().for_each(|(_, target)| target.end_old());
        }
    })?;
    Ok(Some(Askers { _threads: threads, sweeper: Some(sweeper), end }))
}
