//! Other servers that this one asks for its clients: which ones, with which certificates and as whom; and the threads that wait for them.

use crate::config::{ChainedServer, first_line};
use crate::pool_threads::PoolThreads;
use client::{Security, Server, Target, Trust, follow};
use dsa::Dsa;
use dsa::chaining::{Answer, Chaining, Question};
use model::limits::CHAIN_THREADS;
use std::fs;
use std::io;

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
        self.0.iter().position(|(server, _)| server.place == named)
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
    Ok(Target { server: Server { host, port, credentials, security }, is_proxied: server.is_proxied })
}

impl Chaining for Chains {
    fn server_of(&self, urls: &[Vec<u8>]) -> Option<u64> {
        urls.iter().find_map(|url| self.position(url)).map(|at| at as u64)
    }

    fn ask(&self, question: &Question) -> Answer {
        let target = |url: &[u8]| self.position(url).map(|at| self.0[at].1.clone());
        let found = follow(&question.message, &question.who, &question.urls, &target);
        let client::Followed { messages, bases, code, text, urls } = found;
        Answer { messages, bases, code, text, urls }
    }
}

/// Starts the threads that ask, if the agent asks other servers.
///
/// # Errors
/// When the system has no thread for them.
pub(crate) fn start(dsa: &Dsa) -> io::Result<Option<PoolThreads>> {
    dsa.chain_pool().map(|pool| PoolThreads::start(pool, "chain", CHAIN_THREADS, || ())).transpose()
}
