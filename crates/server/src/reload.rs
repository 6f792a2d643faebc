//! Files that are read anew while the server runs: when SIGHUP comes, and when they have changed.

use crate::tls::Tls;
use crate::tokens::TokenKeys;
use env::clock::{Clock, SystemClock};
use env::task;
use std::sync::Arc;

/// How often the files are looked at, in milliseconds.
const RELOAD_MS: u64 = 10_000;

/// What is read from such files.
#[derive(Clone, Debug, Default)]
pub struct Reloaded {
    /// What secures connections.
    pub tls: Option<Arc<Tls>>,
    /// What verifies tokens.
    pub tokens: Option<Arc<TokenKeys>>,
}

impl Reloaded {
    /// Takes the files, if they have changed or `always`.
    fn take(&self, always: bool) {
        if let Some(tls) = &self.tls {
            take_certificates(tls, always);
        }
        match self.tokens.as_ref().map(|tokens| tokens.reload(always)) {
            Some(Ok(true)) => tracing::info!("keys of access tokens were read and are in force"),
            Some(Err(reason)) => {
                tracing::error!("the keys of access tokens that were in force stay: {reason}")
            }
            Some(Ok(false)) | None => {}
        }
    }

    /// Looks at them every ten seconds, for ever.
    pub(crate) async fn look_after(self) {
        if self.tls.is_none() && self.tokens.is_none() {
            return;
        }
        loop {
            task::sleep_ms(RELOAD_MS).await;
            self.take(false);
        }
    }
}

/// Waits until a signal asks for the end. SIGHUP reads the files again. A terminal that is closed sends it to what was started in it: that is no
/// reason to stop serving.
pub(crate) async fn signal_to_end(termination: &mut task::Termination, files: Reloaded) {
    while termination.wait().await == task::SignalAction::Hangup {
        if files.tls.is_none() && files.tokens.is_none() {
            tracing::info!("SIGHUP changes nothing: SIGTERM ends the server, cn=config changes settings");
        }
        files.take(true);
    }
}

fn take_certificates(tls: &Tls, always: bool) {
    let now_s = (SystemClock::start().wall_ms() / 1000) as i64;
    tls.renew_tickets(now_s);
    match tls.reload(now_s, always) {
        Ok(true) => tracing::info!("certificates were read and are in force"),
        Ok(false) => {}
        Err(reason) => tracing::error!("the certificates that were in force stay: {reason}"),
    }
    if let Some(days) = tls.days_left(now_s) {
        match days {
            0.. => tracing::warn!(days, "a certificate expires soon"),
            _ => tracing::error!("a certificate has expired"),
        }
    }
}
