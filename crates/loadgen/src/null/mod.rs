//! The null responder: the least that can be called an LDAP server, as the limit of this kernel and machine.
//!
//! It reads message id, operation and DN, looks one record up in a table of N that really lie in memory, and answers
//! what a server answers that holds the dvtds data set. It has no schema, no access control, no filters but equality
//! of the RDN attribute; it believes every password.

mod log;
mod request;
mod session;
mod table;

use crate::wire::Short;
use env::poll::{Acceptor, Connection, Events, Interest, Poller, on_threads};
use log::Log;
use proto::ber::put_octets;
use proto::list::put_attribute;
use session::Session;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use table::Table;

/// What the null responder pretends to hold.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Entries `RDN=0` to `RDN=entries-1` below the suffix.
    pub entries: u64,
    /// Threads, one epoll each.
    pub threads: usize,
    /// The DN above all entries, at most 60 bytes.
    pub suffix: String,
    /// The attribute of the RDN.
    pub rdn: String,
    /// The values of objectClass in an answer with all attributes.
    pub object_classes: Vec<String>,
    /// The attribute that is answered and modified.
    pub attribute: String,
    /// A folder for logs: a modify is written there and synced before it is answered.
    pub wal: Option<PathBuf>,
}

/// Why the null responder did not start.
#[derive(Debug)]
pub enum NullError {
    /// Suffix, RDN attribute, attribute or object classes are longer than its fixed fields.
    TooLong,
    /// More entries than 2^32, or none.
    Entries,
    /// The system refused.
    Io(io::Error),
}

impl fmt::Display for NullError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NullError::TooLong => {
                f.write_str("suffix, attribute or object classes are too long for the null responder")
            }
            NullError::Entries => f.write_str("the number of entries must be from 1 to 2^32"),
            NullError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NullError {}

impl From<io::Error> for NullError {
    fn from(error: io::Error) -> NullError {
        NullError::Io(error)
    }
}

/// What an answer is made of, ready to be copied.
pub(crate) struct Canned {
    /// `uid=`.
    pub(crate) before: Short,
    /// `,dc=com`.
    pub(crate) after: Short,
    pub(crate) suffix: Short,
    /// The attribute objectClass, encoded.
    pub(crate) object_classes: Vec<u8>,
    /// The element of the RDN attribute's name.
    pub(crate) rdn: Short,
    /// The element of the other attribute's name.
    pub(crate) attribute: Short,
}

impl Canned {
    fn new(settings: &Settings) -> Result<Canned, NullError> {
        let short = |text: &[u8]| Short::new(text).filter(|_| text.len() <= 62).ok_or(NullError::TooLong);
        let name = |text: &str| {
            let mut out = Vec::new();
            put_octets(&mut out, text.as_bytes());
            short(&out)
        };
        let mut object_classes = Vec::new();
        let names = settings.object_classes.iter().map(String::as_bytes);
        put_attribute(&mut object_classes, b"objectClass", names);
        if object_classes.len() > 512 {
            return Err(NullError::TooLong);
        }
        Ok(Canned {
            before: short(format!("{}=", settings.rdn).as_bytes())?,
            after: short(format!(",{}", settings.suffix).as_bytes())?,
            suffix: short(settings.suffix.as_bytes())?,
            object_classes,
            rdn: name(&settings.rdn)?,
            attribute: name(&settings.attribute)?,
        })
    }
}

/// Ends [`Null::serve`] from another thread.
#[derive(Debug)]
pub struct Stop {
    stopped: AtomicBool,
    accepting: Poller,
}

impl Stop {
    /// Not yet.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> io::Result<Stop> {
        Ok(Stop { stopped: AtomicBool::new(false), accepting: Poller::new()? })
    }

    /// Now: connections are dropped and [`Null::serve`] returns.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.accepting.wake();
    }
}

/// One serving thread, as the accepting one sees it.
struct Worker {
    poller: Poller,
    inbox: Mutex<Vec<Connection>>,
}

/// A server that is ready to run: the table is filled.
pub struct Null {
    canned: Canned,
    table: Table,
    threads: usize,
    wal: Option<PathBuf>,
}

impl Null {
    /// Fills the table.
    ///
    /// # Errors
    /// See [`NullError`].
    pub fn new(settings: &Settings) -> Result<Null, NullError> {
        if !(1..=1 << 32).contains(&settings.entries) {
            return Err(NullError::Entries);
        }
        let table = Table::new(settings.entries)?;
        Ok(Null {
            canned: Canned::new(settings)?,
            table,
            threads: settings.threads.max(1),
            wal: settings.wal.clone(),
        })
    }

    /// Serves until `stop` says so. Connections are dealt to the threads in turn.
    ///
    /// # Errors
    /// When the process has no descriptor left at the start.
    pub fn serve(&self, acceptor: &Acceptor, stop: &Stop) -> Result<(), NullError> {
        let worker = |_| Ok(Worker { poller: Poller::new()?, inbox: Mutex::new(Vec::new()) });
        let workers = (0..self.threads).map(worker).collect::<io::Result<Vec<_>>>()?;
        stop.accepting.add(acceptor, 0, Interest::Read)?;
        let results = on_threads(self.threads + 1, |index| match index.checked_sub(1) {
            None => accept(acceptor, &workers, stop),
            Some(index) => self.work(index, &workers[index], stop),
        });
        results.into_iter().collect::<io::Result<()>>().map_err(NullError::Io)
    }

    /// What a serving thread does from start to end.
    fn work(&self, index: usize, worker: &Worker, stop: &Stop) -> io::Result<()> {
        let mut sessions: BTreeMap<u64, Session> = BTreeMap::new();
        let mut next = 0;
        let mut events = Events::with_capacity(256);
        let log = self.wal.as_ref().map(|folder| Log::create(folder, index)).transpose()?;
        let mut buffers = session::Buffers::new(log);
        loop {
            worker.poller.wait(&mut events, None)?;
            for event in events.iter() {
                if let Some(session) = sessions.get_mut(&event.token) {
                    if !session.on_ready(&self.canned, &self.table, &mut buffers, &worker.poller, event) {
                        sessions.remove(&event.token);
                    }
                    continue;
                }
                if stop.stopped.load(Ordering::SeqCst) {
                    return Ok(());
                }
                let arrived = std::mem::take(&mut *worker.inbox.lock().unwrap_or_else(|e| e.into_inner()));
                for connection in arrived {
                    worker.poller.add(&connection, next, Interest::Read)?;
                    sessions.insert(next, Session::new(connection, next));
                    next += 1;
                }
            }
            // One sync for the modifies of all connections that were ready together.
            if let Some(log) = &mut buffers.log {
                log.commit()?;
                for token in buffers.held.drain(..) {
                    if sessions.get_mut(&token).is_some_and(|session| !session.release(&worker.poller)) {
                        sessions.remove(&token);
                    }
                }
            }
        }
    }
}

/// Listens on `HOST:PORT`, says where once it answers, and serves until the process ends.
///
/// # Errors
/// See [`NullError`].
pub fn run(listen: &str, settings: &Settings, on_ready: impl FnOnce(SocketAddr)) -> Result<(), NullError> {
    env::host::raise_descriptor_limit();
    let acceptor = Acceptor::listen(listen)?;
    let null = Null::new(settings)?;
    on_ready(acceptor.address()?);
    null.serve(&acceptor, &Stop::new()?)
}

fn accept(acceptor: &Acceptor, workers: &[Worker], stop: &Stop) -> io::Result<()> {
    let mut events = Events::with_capacity(2);
    let mut turn = 0;
    loop {
        stop.accepting.wait(&mut events, None)?;
        if stop.stopped.load(Ordering::SeqCst) {
            workers.iter().for_each(|worker| worker.poller.wake());
            return Ok(());
        }
        if events.iter().any(|event| event.token == 0) {
            // A connection that is gone again, or no descriptor left: the next one may do better.
            let Ok(connection) = acceptor.accept() else { continue };
            let worker = &workers[turn % workers.len()];
            worker.inbox.lock().unwrap_or_else(|e| e.into_inner()).push(connection);
            worker.poller.wake();
            turn += 1;
        }
    }
}

#[cfg(test)]
mod tests;
