//! Files that are read anew while the server runs: when SIGHUP comes, and when they have changed.

use crate::tokens::TokenKeys;
use dsa::Dsa;
use dsa::events::{Event, EventKind};
use env::clock::{Clock, SystemClock};
use env::task;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tls::Tls;

/// How often the files are looked at, in milliseconds.
const RELOAD_MS: u64 = 10_000;

/// What is read from such files.
#[derive(Clone, Debug, Default)]
pub struct Reloaded {
    /// What secures connections.
    pub tls: Option<Arc<Tls>>,
    /// What verifies tokens.
    pub tokens: Option<Arc<TokenKeys>>,
    /// How often SIGHUP came: files of logs are opened again.
    pub hangups: Arc<AtomicU64>,
}

impl Reloaded {
    /// Takes the files, if they have changed or `always`.
    fn take(&self, dsa: &Dsa, always: bool) {
        if let Some(tls) = &self.tls {
            take_certificates(dsa, tls, always);
        }
        if let Some(tokens) = &self.tokens {
            report(dsa, "keys of access tokens", tokens.reload(always));
        }
    }

    /// Looks at them every ten seconds, for ever.
    pub(crate) async fn look_after(self, dsa: Arc<Dsa>) {
        if self.tls.is_none() && self.tokens.is_none() {
            return;
        }
        loop {
            task::sleep_ms(RELOAD_MS).await;
            self.take(&dsa, false);
        }
    }
}

/// Waits until a signal asks for the end. SIGHUP reads the files again. A terminal that is closed sends it to what was started in it: that is no
/// reason to stop serving.
pub(crate) async fn signal_to_end(termination: &mut task::Termination, dsa: &Dsa, files: Reloaded) {
    while termination.wait().await == task::SignalAction::Hangup {
        files.hangups.fetch_add(1, Ordering::Relaxed);
        if files.tls.is_none() && files.tokens.is_none() {
            tracing::info!(
                "SIGHUP opens files of logs again and changes nothing else: SIGTERM ends the server, cn=config changes settings"
            );
        }
        files.take(dsa, true);
    }
}

/// Reports what came of files: to the log of the server, and to the security log.
fn report(dsa: &Dsa, what: &str, done: Result<bool, String>) {
    let detail = match &done {
        Ok(false) => return,
        Ok(true) => format!("{what} were read and are in force"),
        Err(reason) => format!("the {what} that were in force stay: {reason}"),
    };
    match done {
        Ok(_) => tracing::info!("{detail}"),
        Err(_) => tracing::error!("{detail}"),
    }
    dsa.events().note(|| Event::of(EventKind::Reload, detail));
}

fn take_certificates(dsa: &Dsa, tls: &Tls, always: bool) {
    let now_s = (SystemClock::start().wall_ms() / 1000) as i64;
    tls.renew_tickets(now_s);
    report(dsa, "certificates", tls.reload(now_s, always));
    if let Some(days) = tls.days_left(now_s) {
        match days {
            0.. => tracing::warn!(days, "a certificate expires soon"),
            _ => tracing::error!("a certificate has expired"),
        }
    }
}
