//! Accepts connections and gives each to the IO thread that has the fewest.

use crate::chaining::{self, Chains};
use crate::config::{self, Listen};
use crate::hashers;
use crate::logs::{Auditor, Writer};
use crate::options::Options;
use crate::own_settings::OwnSettings;
use crate::reload::{Reloaded, signal_to_end};
use crate::rules::Rules;
use crate::seldom::Seldom;
use crate::thread::IoThread;
use dsa::Dsa;
use dsa::certificates::Certificates;
use dsa::chaining::Chaining;
use dsa::contexts::Contexts;
use dsa::refusals::Limit;
use dsa::tokens::Tokens;
use env::clock::{Clock, SystemClock};
use env::net::{Bound, Listener, PeerAddress, Pending, SocketListener, SocketPending};
use env::task;
use std::future::Future;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use tls::ClientUse;
use tokio::sync::watch;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// Milliseconds to wait after a failed accept. With no descriptors left the next one would fail at once too.
const ACCEPT_PAUSE_MS: u64 = 50;

/// Where a directory is served, and how connections are secured.
pub struct Endpoints {
    /// Sockets, and what is asked of the clients that come by them. Where TLS is spoken from the first byte it needs `tls`.
    pub bound: Vec<(Bound, Arc<config::Listener>)>,
    /// What secures connections, and what verifies tokens.
    pub files: Reloaded,
    /// What asks other servers for clients.
    pub chains: Option<Arc<Chains>>,
    /// What begins security contexts of GSSAPI.
    pub contexts: Option<Arc<dyn Contexts>>,
    /// Settings of this server that can be changed while it runs: among others what is logged.
    pub own: Arc<OwnSettings>,
    /// Words that are refused as passwords, one in each line.
    pub words: Option<Vec<u8>>,
    /// Who writes down what is changed.
    pub auditor: Option<Auditor>,
}

/// Serves `dsa` until SIGTERM or SIGINT, then finishes what is in flight and returns.
/// `on_ready` is called with each address once connections to it are answered.
pub fn serve(
    dsa: Arc<Dsa>,
    endpoints: Endpoints,
    options: Options,
    on_ready: impl FnMut(Listen),
) -> io::Result<()> {
    task::block_on(async {
        let mut termination = task::Termination::catch()?;
        let of_signals = Arc::clone(&dsa);
        let stop = signal_to_end(&mut termination, &of_signals, endpoints.files.clone());
        serve_until(dsa, endpoints, options, on_ready, stop).await
    })?
}

/// As [`serve`], until `stop` is done. Must run inside an event loop.
pub async fn serve_until(
    dsa: Arc<Dsa>,
    Endpoints { bound, files, chains, contexts, own, words, .. }: Endpoints,
    options: Options,
    on_ready: impl FnMut(Listen),
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    assert!(options.threads > 0, "somebody must serve");
    // It goes on until the last connection has ended.
    let (writer, mut feeds) = Writer::start(&dsa, own.logs(), options.threads, &files.hangups)?;
    let _stopped = Stopped(Arc::clone(&writer));
    let tls = files.tls.clone();
    let threads: io::Result<Vec<IoThread<SocketPending>>> =
        (0..options.threads).map(|n| IoThread::start(n, dsa.clone(), (tls.clone(), feeds.pop()))).collect();
    let threads = Rc::new(threads?);
    let tellers: Vec<_> = threads.iter().map(IoThread::log_teller).collect();
    // The settings outlive this.
    let writer = Arc::downgrade(&writer);
    let preparing = Weak::clone(&writer);
    let prepare = move || preparing.upgrade().map_or(Ok(()), |writer| writer.prepare());
    own.tell_of_access(prepare, move |access, begins| {
        let Some(writer) = writer.upgrade() else { return };
        let mut feeds = writer.feeds(access, begins, tellers.len());
        tellers.iter().for_each(|tell| tell(access, feeds.pop()));
    });
    dsa.change_node_settings_by(own);
    if let Some(words) = &words {
        let at_key = |reason: String| io::Error::other(format!("password-dictionary: {reason}"));
        dsa.refuse_words(words).map_err(at_key)?;
    }
    if let Some(tls) = &tls {
        dsa.show_certificates(Arc::clone(tls) as Arc<dyn Certificates>);
    }
    if let Some(tokens) = &files.tokens {
        dsa.verify_tokens_by(Arc::clone(tokens) as Arc<dyn Tokens>);
    }
    if let Some(chains) = &chains {
        dsa.chain_by(Arc::clone(chains) as Arc<dyn Chaining>);
    }
    if let Some(contexts) = contexts {
        dsa.begin_contexts_by(contexts);
    }
    // They go on until the last session has ended.
    let _hashers = hashers::start(&dsa)?;
    let _askers = chaining::start(&dsa, chains)?;
    let descriptors = env::host::descriptor_limit();
    let (stopping, stopped) = watch::channel(false);
    let mut addresses = Vec::new();
    for (bound, configured) in bound {
        let is_tls = configured.url.is_tls();
        let rules = Arc::new(Rules {
            of_sessions: configured.of_sessions(),
            is_tls,
            clients: configured.clients.unwrap_or(ClientUse::None),
            proxy: configured.proxy.clone(),
            proxy_tls: configured.proxy_tls,
        });
        assert!(!is_tls || tls.is_some(), "an address where TLS is spoken has a certificate");
        let listener = bound.listen(BACKLOG)?;
        addresses.push(address_of(&listener, is_tls)?);
        let accepting = (threads.clone(), dsa.clone());
        task::spawn_local(accept(listener, rules, accepting, stopped.clone(), descriptors));
    }
    drop(stopped);
    task::spawn_local(files.look_after(Arc::clone(&dsa)));
    addresses.into_iter().for_each(on_ready);
    stop.await;
    tracing::info!("stopping");
    let _ = stopping.send(true);
    // Each listener's task drops its receiver when it has ended, its socket with it.
    stopping.closed().await;
    finish(threads)
}

/// What is left of logs is written when this is dropped.
struct Stopped(Arc<Writer>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// What is listened on, as far as a client needs it.
fn address_of(listener: &SocketListener, is_tls: bool) -> io::Result<Listen> {
    Ok(match listener {
        SocketListener::Tcp(listener) => {
            let address = listener.local_addr()?;
            Listen::Tcp { is_tls, host: address.ip().to_string(), port: address.port() }
        }
        SocketListener::Unix(listener) => Listen::unix(listener.path().to_owned()),
    })
}

fn finish<P: Pending>(threads: Rc<Vec<IoThread<P>>>) -> io::Result<()> {
    threads.iter().for_each(IoThread::drain);
    let threads = Rc::into_inner(threads).expect("the listeners have ended");
    threads.into_iter().try_for_each(IoThread::join)
}

/// Descriptors that are not for connections: those of the server's own files, and for clients on this machine.
const DESCRIPTORS_KEPT: u64 = 128;
/// Part of those that connections from this machine may have beyond the others, so that it can be looked after.
const LOOPBACK_SHARE: u64 = 4;

/// How many connections there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    connections_max: u64,
    /// With those from this machine.
    with_loopback: u64,
}

impl Room {
    /// What was chosen, or 0 for what the descriptors allow.
    fn of(chosen: u64, descriptors: u64) -> Room {
        let kept = DESCRIPTORS_KEPT.min(descriptors / 2);
        let least = descriptors - kept;
        let connections_max = if chosen == 0 { least } else { chosen.min(least) };
        Room { connections_max, with_loopback: connections_max + kept / LOOPBACK_SHARE }
    }

    /// Whether one more connection beside so many others has a place.
    fn has_place(self, connections: u64, peer: PeerAddress) -> bool {
        connections < if peer.is_local() { self.with_loopback } else { self.connections_max }
    }
}

/// Accepts until asked to stop.
async fn accept(
    listener: SocketListener,
    rules: Arc<Rules>,
    (threads, dsa): (Rc<Vec<IoThread<SocketPending>>>, Arc<Dsa>),
    mut stopped: watch::Receiver<bool>,
    descriptors: u64,
) {
    let (clock, failures) = (SystemClock::start(), Seldom::default());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => break,
        };
        match accepted {
            Ok((pending, peer)) => {
                let connections = threads.iter().map(IoThread::load).sum::<usize>() as u64;
                let room = Room::of(dsa.limits().connections_max.get(), descriptors);
                if room.has_place(connections, peer) {
                    assign(&threads, pending, peer, &rules);
                } else {
                    dsa.refusals().note(Limit::Connections, Some(peer));
                }
            }
            Err(error) => {
                if let Some(others) = failures.pass(clock.monotonic_ns()) {
                    tracing::warn!(%error, others, "cannot accept a connection");
                }
                task::sleep_ms(ACCEPT_PAUSE_MS).await;
            }
        }
    }
    // In this order: `serve_until` takes the threads back once the last receiver is gone.
    drop(threads);
    drop(listener);
    drop(stopped);
}

/// Hands the connection to the thread with the fewest. One that has ended is passed over: it gives the connection back.
fn assign<P: Pending>(threads: &[IoThread<P>], pending: P, peer: PeerAddress, rules: &Arc<Rules>) {
    assert!(!threads.is_empty(), "a connection that was accepted has a thread to go to");
    let mut order: Vec<&IoThread<P>> = threads.iter().collect();
    order.sort_by_key(|thread| thread.load());
    let mut waiting = Some((pending, peer));
    for thread in order {
        let Some((pending, peer)) = waiting.take() else { return };
        waiting = thread.serve(pending, peer, Arc::clone(rules)).err();
    }
    if waiting.is_some() {
        tracing::error!(%peer, "no IO thread is available for a connection");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_kept_for_this_machine_and_for_files() {
        let address = |text: &str| PeerAddress::Tcp(text.parse().unwrap());
        let (far, near) = (address("10.0.0.1:1"), address("[::1]:1"));
        let room = Room::of(0, 1024);
        assert_eq!(room, Room { connections_max: 896, with_loopback: 928 });
        assert!(room.has_place(895, far) && !room.has_place(896, far));
        assert!(room.has_place(927, near) && !room.has_place(928, near));
        assert!(room.has_place(927, address("[::ffff:127.0.0.1]:1")));
        assert_eq!(Room::of(0, 64), Room { connections_max: 32, with_loopback: 40 });
        assert_eq!(Room::of(10, 1024), Room { connections_max: 10, with_loopback: 42 });
        assert_eq!(Room::of(5000, 1024).connections_max, 896);
    }
}
