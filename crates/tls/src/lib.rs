//! TLS (RFC 8446, RFC 5246; RFC 4513 section 3) of the connections: the certificates that are in force, and when files bring others.
//!
//! A handshake takes what is in force when it begins; a session keeps what it began with. Files are looked at every ten seconds and when
//! SIGHUP comes. What is wrong with new files is logged, and what was in force stays.

mod buffer;
mod certificate;
mod client;
mod exporter;
mod record;
mod stream;

pub use self::buffer::Buffers;
use self::certificate::{Certificates, Loaded, Shown};
pub use self::certificate::{Offered, Pair};
pub use self::client::known;
pub use self::client::{ClientAuthorities, ClientUse};
pub use self::record::Facts;
pub use self::stream::Secured;
use arc_swap::ArcSwap;
use dsa::certificates;
use env::stamp::{Stamp, stamp};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{NoServerSessionStorage, ResolvesServerCert};
use rustls::{ServerConfig, SupportedProtocolVersion};
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Versions of TLS that are spoken: 1.3, and 1.2 unless it is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// TLS 1.2, too?
    pub with_1_2: bool,
    /// Only with an extended master secret (RFC 7627)? TLS 1.3 has one always.
    pub requires_extended_master: bool,
}

/// What is to be known to secure connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Certificates and keys, one at least. The first is for clients that name no server, or none that is known.
    pub pairs: Vec<Pair>,
    /// Versions that are spoken.
    pub versions: Versions,
    /// What certificates of clients are verified by, if any are asked for.
    pub clients: Option<ClientAuthorities>,
    /// May proofs be bound to keys of the session? What they follow from is kept then.
    pub binds_proofs: bool,
}

/// What secures connections, and where it comes from.
pub struct Tls {
    settings: Settings,
    provider: Arc<CryptoProvider>,
    current: ArcSwap<Configs>,
    /// Of the files that were read last, whether they were taken or not.
    seen: Mutex<Vec<Stamp>>,
    /// Seconds since 1970 at which the first of the certificates in force expires.
    not_after_s: AtomicI64,
    /// Seconds since 1970 at which they were read.
    since_s: AtomicI64,
    /// Seconds since 1970 at which newer files were found to be faulty; 0 if they are not.
    failed_s: AtomicI64,
    /// Seconds since 1970 at which the keys of tickets were made.
    tickets_since_s: AtomicI64,
    /// Days before that, of those of which it was warned last.
    warned_days: AtomicI64,
}

/// Seconds after which the keys of tickets are made anew: no ticket is taken for longer.
const TICKETS_S: i64 = 6 * 60 * 60;

/// What handshakes go by, for each use of certificates of clients. Each has keys of tickets of its own, so a handshake without a certificate is not
/// resumed where there must be one.
struct Configs {
    /// What clients are shown that have no choice.
    shown: Arc<Shown>,
    without: Arc<ServerConfig>,
    request: Option<Arc<ServerConfig>>,
    require: Option<Arc<ServerConfig>>,
}

impl Configs {
    /// The same with new keys of tickets.
    fn with_new_tickets(&self) -> Result<Configs, String> {
        let renewed = |config: &Arc<ServerConfig>| {
            let mut config = ServerConfig::clone(config);
            config.ticketer = ring::Ticketer::new().map_err(|error| error.to_string())?;
            Ok::<_, String>(Arc::new(config))
        };
        Ok(Configs {
            shown: Arc::clone(&self.shown),
            without: renewed(&self.without)?,
            request: self.request.as_ref().map(renewed).transpose()?,
            require: self.require.as_ref().map(renewed).transpose()?,
        })
    }
}

/// Days before a certificate expires at which the log has a warning.
const WARNING_DAYS: [i64; 4] = [30, 7, 1, 0];
/// No warning was given.
const NOT_WARNED: i64 = i64::MAX;

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files; the time is in seconds since 1970. Also what an administrator should know of them.
    ///
    /// # Errors
    /// What is wrong, with the name of the file.
    pub fn load(settings: Settings, now_s: i64) -> Result<(Tls, Vec<String>), String> {
        assert!(!settings.pairs.is_empty(), "without a certificate there is no TLS");
        let provider = Arc::new(ring::default_provider());
        let seen = stamps(&settings);
        let Configured { configs, not_after_s, warnings } = configure(&settings, now_s, &provider)?;
        let tls = Tls {
            settings,
            provider,
            current: ArcSwap::from_pointee(configs),
            tickets_since_s: AtomicI64::new(now_s),
            seen: Mutex::new(seen),
            not_after_s: AtomicI64::new(not_after_s),
            since_s: AtomicI64::new(now_s),
            failed_s: AtomicI64::new(0),
            warned_days: AtomicI64::new(NOT_WARNED),
        };
        Ok((tls, warnings))
    }

    /// What a handshake that begins now goes by, with a client whose certificate has this use. `None` if the use has no authorities.
    pub fn current(&self, clients: ClientUse) -> Option<Offered> {
        let configs = self.current.load();
        let config = match clients {
            ClientUse::None => Arc::clone(&configs.without),
            ClientUse::Request => configs.request.clone()?,
            ClientUse::Require => configs.require.clone()?,
        };
        if configs.shown.certificates().is_one() {
            return Some(Offered { config, shown: Arc::clone(&configs.shown) });
        }
        // Which of several it was is known to this handshake only.
        let shown = Arc::new(Shown::new(Arc::clone(configs.shown.certificates())));
        let mut own = ServerConfig::clone(&config);
        own.cert_resolver = Arc::clone(&shown) as Arc<dyn ResolvesServerCert>;
        Some(Offered { config: Arc::new(own), shown })
    }

    /// Makes new keys of tickets if those in force are old: what a handshake has proved is not gone by for longer.
    pub fn renew_tickets(&self, now_s: i64) {
        if now_s.saturating_sub(self.tickets_since_s.load(Ordering::Relaxed)) < TICKETS_S {
            return;
        }
        match self.current.load().with_new_tickets() {
            Ok(configs) => {
                self.current.store(Arc::new(configs));
                self.tickets_since_s.store(now_s, Ordering::Relaxed);
            }
            Err(reason) => tracing::error!("tickets of TLS sessions keep their keys: {reason}"),
        }
    }

    /// Takes the files if they are others than those that were read last, or `always`. True if they were taken.
    ///
    /// # Errors
    /// What is wrong with them. What was in force stays, and the same files are not looked at again unless `always`.
    pub fn reload(&self, now_s: i64, always: bool) -> Result<bool, String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Before they are read: what is changed meanwhile is noticed the next time.
        let stamps = stamps(&self.settings);
        if *seen == stamps && !always {
            return Ok(false);
        }
        *seen = stamps;
        let configured = configure(&self.settings, now_s, &self.provider);
        match configured {
            Ok(_) => self.failed_s.store(0, Ordering::Relaxed),
            // The first of several failures says since when something is wrong.
            Err(_) if self.failed_s.load(Ordering::Relaxed) != 0 => {}
            Err(_) => self.failed_s.store(now_s, Ordering::Relaxed),
        }
        let Configured { configs, not_after_s, warnings } = configured?;
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        self.current.store(Arc::new(configs));
        self.tickets_since_s.store(now_s, Ordering::Relaxed);
        self.since_s.store(now_s, Ordering::Relaxed);
        self.not_after_s.store(not_after_s, Ordering::Relaxed);
        self.warned_days.store(NOT_WARNED, Ordering::Relaxed);
        Ok(true)
    }

    /// Days that are left until a certificate in force expires, if it is time to warn of that: 30, 7 and 1 days before and when it has expired, each once.
    pub fn days_left(&self, now_s: i64) -> Option<i64> {
        let days = (self.not_after_s.load(Ordering::Relaxed) - now_s).div_euclid(24 * 60 * 60);
        let reached = WARNING_DAYS.into_iter().filter(|warning| days < *warning).min()?;
        (self.warned_days.fetch_min(reached, Ordering::Relaxed) > reached).then_some(days)
    }
}

impl certificates::Certificates for Tls {
    fn metrics(&self) -> certificates::Metrics {
        let seconds = |at: &AtomicI64| u64::try_from(at.load(Ordering::Relaxed)).unwrap_or(0);
        certificates::Metrics {
            in_force: self.current.load().shown.certificates().metrics(),
            since_s: seconds(&self.since_s),
            failed_s: Some(seconds(&self.failed_s)).filter(|failed_s| *failed_s != 0),
        }
    }
}

fn stamps(settings: &Settings) -> Vec<Stamp> {
    let own = settings.pairs.iter().flat_map(|pair| [&pair.certificate, &pair.key]);
    let clients =
        settings.clients.iter().flat_map(|clients| clients.certificates.iter().chain(&clients.revoked));
    own.chain(clients).map(|path| stamp(path)).collect()
}

/// What files came to.
struct Configured {
    configs: Configs,
    not_after_s: i64,
    warnings: Vec<String>,
}

fn configure(settings: &Settings, now_s: i64, provider: &Arc<CryptoProvider>) -> Result<Configured, String> {
    let loaded: Result<Vec<Loaded>, String> =
        settings.pairs.iter().map(|pair| Loaded::read(pair, now_s, provider)).collect();
    let mut loaded = loaded?;
    let not_after_s = loaded.iter().map(|loaded| loaded.not_after_s).min().expect("there is a certificate");
    let warnings = loaded.iter_mut().flat_map(|loaded| std::mem::take(&mut loaded.warnings)).collect();
    let versions: &[&SupportedProtocolVersion] = match settings.versions.with_1_2 {
        true => &[&rustls::version::TLS13, &rustls::version::TLS12],
        false => &[&rustls::version::TLS13],
    };
    let shown = Arc::new(Shown::new(Arc::new(Certificates(loaded))));
    let config = |clients: ClientUse| {
        let builder =
            ServerConfig::builder_with_provider(Arc::clone(provider)).with_protocol_versions(versions);
        let builder = builder.map_err(|error| error.to_string())?;
        let builder = match (clients, &settings.clients) {
            (ClientUse::Request | ClientUse::Require, Some(authorities)) => {
                let is_required = clients == ClientUse::Require;
                builder.with_client_cert_verifier(client::verifier(authorities, is_required, provider)?)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::clone(&shown) as Arc<dyn ResolvesServerCert>);
        // Keys of tickets are memory of this process: new at each start and with each certificate. Nothing is kept of a session but what is in
        // its ticket.
        config.ticketer = ring::Ticketer::new().map_err(|error| error.to_string())?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        // Data that comes with a resumed handshake could be replayed.
        config.max_early_data_size = 0;
        config.require_ems = settings.versions.requires_extended_master;
        if settings.binds_proofs {
            config.key_log = Arc::new(exporter::Keeps { with_1_2: config.require_ems });
        }
        Ok::<_, String>(Arc::new(config))
    };
    let of_clients = |clients: ClientUse| settings.clients.as_ref().map(|_| config(clients)).transpose();
    let configs = Configs {
        shown: Arc::clone(&shown),
        without: config(ClientUse::None)?,
        request: of_clients(ClientUse::Request)?,
        require: of_clients(ClientUse::Require)?,
    };
    Ok(Configured { configs, not_after_s, warnings })
}

// Files of tests name the crate as others do.
#[cfg(test)]
extern crate self as tls;
#[cfg(test)]
mod tests;
