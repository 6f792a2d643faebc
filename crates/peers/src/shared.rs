//! What all connections of this node go by.

use crate::authority::Authority;
use crate::certificate::Holder;
use crate::hello::{Class, Hello};
use crate::refusals::Refusals;
use crate::secure::Configs;
use crate::seen::Seen;
use crate::service::Service;
use crate::table::Table;
use crate::wire::Ended;
use consensus::Extent;
use env::clock::SystemClock;
use rustls::pki_types::CertificateDer;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, Semaphore, watch};

/// Joins and commands that run at the same time at most; others wait.
const CALLS_MAX: usize = 4;
/// Records of runs that were not seen before, likewise: they do not wait behind joins, which wait for links.
const RECORDS_MAX: usize = 2;

/// Says how far the disk of a node goes: what it has acknowledged is there.
pub type Durable = Arc<dyn Fn() -> Extent + Send + Sync>;

/// What all connections of this node go by.
pub(crate) struct Shared {
    pub(crate) table: Table,
    pub(crate) clock: SystemClock,
    pub(crate) authority: Option<Arc<Authority>>,
    /// This server ends.
    pub(crate) end: Notify,
    service: Arc<dyn Service>,
    configs: Mutex<Configs>,
    calls: Arc<Semaphore>,
    records: Arc<Semaphore>,
    pub(crate) seen: Arc<Seen>,
    /// Nodes whose links this node refused.
    pub(crate) refusals: Refusals,
    /// Says how far the disk of this node goes, once that is known.
    durable: watch::Sender<Option<Durable>>,
}

impl Shared {
    pub(crate) fn new(
        table: Table,
        seen: Arc<Seen>,
        configs: Configs,
        authority: Option<Arc<Authority>>,
        service: Arc<dyn Service>,
    ) -> Shared {
        Shared {
            table,
            clock: SystemClock::start(),
            authority,
            end: Notify::new(),
            service,
            configs: Mutex::new(configs),
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            records: Arc::new(Semaphore::new(RECORDS_MAX)),
            seen,
            refusals: Refusals::default(),
            durable: watch::Sender::new(None),
        }
    }

    /// What connections that begin now go by.
    pub(crate) fn configs(&self) -> Configs {
        self.configs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_configs(&self, configs: Configs) {
        *self.configs.lock().unwrap_or_else(PoisonError::into_inner) = configs;
    }

    /// Calls the service for a join or a command, on a thread that may wait.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Service) -> T + Send + 'static,
    ) -> Result<T, Ended> {
        let service = Arc::clone(&self.service);
        beside(&self.calls, move || call(&*service)).await
    }

    /// Is the one that said hello the holder of the certificate, a member, and may it be linked?
    pub(crate) async fn admit(&self, hello: &Hello, holder: &Holder) -> Result<(), Ended> {
        if holder.cluster != hello.cluster {
            return Err(Ended::Stranger("its hello names another cluster than its certificate"));
        }
        self.table.check(hello, holder.node, holder.fingerprint)?;
        if hello.class == Class::Requests {
            return Ok(());
        }
        if self.seen.is_last(hello) {
            return Ok(());
        }
        let (seen, hello) = (Arc::clone(&self.seen), *hello);
        Ok(beside(&self.records, move || seen.admit(&hello)).await??)
    }

    /// From now on it is known how far the disk goes: links may be made.
    pub(crate) fn begin(&self, durable: Durable) {
        self.durable.send_replace(Some(durable));
    }

    /// This node, as it says it on a connection of a class. For messages and files that waits until it is known how far its disk goes.
    pub(crate) async fn own(&self, class: Class) -> Hello {
        if class == Class::Requests {
            return self.table.own(class, Extent::default());
        }
        let mut durable = self.durable.subscribe();
        // The sender is there as long as this is.
        let known = durable.wait_for(Option::is_some).await.ok().and_then(|known| known.clone());
        self.table.own(class, known.map(|durable| durable()).unwrap_or_default())
    }
}

async fn beside<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Ended> {
    let permit = Arc::clone(permits).acquire_owned().await.expect("it is never closed");
    let called = tokio::task::spawn_blocking(move || {
        // Also where nobody waits for what comes of it any more.
        let _permit = permit;
        call()
    });
    called.await.map_err(|error| Ended::Refused(format!("a call failed: {error}")))
}

/// Whose certificate the other end has shown; the handshake has verified it. `None` if it has shown none.
pub(crate) fn holder(chain: Option<&[CertificateDer<'static>]>) -> Result<Option<Holder>, Ended> {
    let Some(certificate) = chain.and_then(|chain| chain.first()) else { return Ok(None) };
    Holder::read(certificate).map(Some).ok_or(Ended::Stranger("its certificate is of no node"))
}
