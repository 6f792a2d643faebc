//! What all connections of this node go by.

use crate::authority::Authority;
use crate::certificate::Holder;
use crate::hello::{Class, Hello};
use crate::secure::Configs;
use crate::service::{Greeting, Service};
use crate::table::Table;
use crate::wire::Ended;
use env::clock::SystemClock;
use rustls::pki_types::CertificateDer;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, Semaphore};

/// Joins and commands that run at the same time at most; others wait.
const CALLS_MAX: usize = 4;
/// Greetings likewise: they do not wait behind joins, which wait for links.
const GREETINGS_MAX: usize = 2;

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
    greetings: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(
        table: Table,
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
            greetings: Arc::new(Semaphore::new(GREETINGS_MAX)),
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
        beside(&self.calls, &self.service, call).await
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
        let greeting = Greeting { node: hello.node, boots: hello.boots, run: hello.run };
        let greeted = beside(&self.greetings, &self.service, move |service| service.greet(greeting)).await?;
        greeted.map_err(Ended::Refused)
    }
}

async fn beside<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    service: &Arc<dyn Service>,
    call: impl FnOnce(&dyn Service) -> T + Send + 'static,
) -> Result<T, Ended> {
    let permit = Arc::clone(permits).acquire_owned().await.expect("it is never closed");
    let service = Arc::clone(service);
    let called = tokio::task::spawn_blocking(move || {
        // Also where nobody waits for what comes of it any more.
        let _permit = permit;
        call(&*service)
    });
    called.await.map_err(|error| Ended::Refused(format!("the service failed: {error}")))
}

/// Whose certificate the other end has shown; the handshake has verified it. `None` if it has shown none.
pub(crate) fn holder(chain: Option<&[CertificateDer<'static>]>) -> Result<Option<Holder>, Ended> {
    let Some(certificate) = chain.and_then(|chain| chain.first()) else { return Ok(None) };
    Holder::read(certificate).map(Some).ok_or(Ended::Stranger("its certificate is of no node"))
}
