//! The keys of this server for Kerberos, from a keytab, and the security contexts that clients begin with tickets for it (RFC 4121, RFC 4752).
//!
//! The library of MIT does the work, on the threads for passwords: it reads its configuration, the keytab and its memory of tickets that were
//! seen. Who the client is, and what it has chosen, is judged by the agent.

use dsa::contexts::{Context, Contexts, OFFER, Step};
use libgssapi::context::{SecurityContext as _, ServerCtx};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::error::Error;
use libgssapi::oid::{GSS_MECH_KRB5, OidSet};
use model::limits::SASL_BYTES_MAX;
use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The service that tickets must be for: the first part of the name of a server.
const SERVICE: &str = "ldap/";

unsafe extern "C" {
    /// Of the library: the keytab that contexts are accepted by, of the whole process. It copies the name, and guards what it keeps by a lock.
    fn krb5_gss_register_acceptor_identity(keytab: *const c_char) -> u32;
}

/// The keys of the server.
pub struct Keytab(Cred);

impl Keytab {
    /// Reads a keytab.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(path: &Path) -> Result<Keytab, String> {
        let at = path.display();
        // The library says no more than that it has found nothing.
        std::fs::File::open(path).map_err(|error| format!("{at}: cannot be read: {error}"))?;
        let name = [b"FILE:", path.as_os_str().as_bytes()].concat();
        let name = CString::new(name).map_err(|_| format!("{at}: a name of a file has no NUL"))?;
        // SAFETY: the function takes a text that ends with NUL, which it copies.
        if unsafe { krb5_gss_register_acceptor_identity(name.as_ptr()) } != 0 {
            return Err(format!("{at}: the library of Kerberos does not take it"));
        }
        let acquire = || {
            let mechanisms = OidSet::singleton(GSS_MECH_KRB5)?;
            Cred::acquire(None, None, CredUsage::Accept, Some(&mechanisms))
        };
        acquire().map(Keytab).map_err(|error| format!("{at}: {error}"))
    }
}

impl Contexts for Keytab {
    fn begin(&self) -> Box<dyn Context> {
        Box::new(Begun { context: ServerCtx::new(Some(self.0.clone())), phase: Phase::Tokens })
    }
}

/// What the next message is.
enum Phase {
    /// A token of the mechanism.
    Tokens,
    /// Empty: the client has seen that the context stands.
    Acknowledged,
    /// The answer to the offer.
    Answer,
    /// None is taken any more.
    Over,
}

struct Begun {
    context: ServerCtx,
    phase: Phase,
}

impl Context for Begun {
    fn step(&mut self, message: &[u8]) -> Step {
        // The library decrypts where the message lies, which is the caller's: a copy of it is given away.
        let message = std::hint::black_box(message.to_vec());
        // Whatever fails is over.
        match (std::mem::replace(&mut self.phase, Phase::Over), &message[..]) {
            (Phase::Tokens, message) => self.token(message),
            (Phase::Acknowledged, []) => self.offer(),
            (Phase::Answer, message) => self.answer(message),
            (Phase::Acknowledged | Phase::Over, _) => None,
        }
        .unwrap_or(Step::Failed)
    }
}

impl Begun {
    fn token(&mut self, token: &[u8]) -> Option<Step> {
        let reply = self.context.step(token, None).ok()?;
        let reply = reply.map(|reply| reply.to_vec()).filter(|reply| !reply.is_empty());
        match (self.context.is_complete(), reply) {
            (false, reply) => {
                self.phase = Phase::Tokens;
                Some(Step::GoOn(reply.unwrap_or_default()))
            }
            (true, Some(reply)) => {
                self.phase = Phase::Acknowledged;
                Some(Step::GoOn(reply))
            }
            (true, None) => self.offer(),
        }
    }

    fn offer(&mut self) -> Option<Step> {
        self.is_for_us().ok().filter(|is_for_us| *is_for_us)?;
        // Nobody may change it on the way, and everybody may read it.
        let offer = self.context.wrap(false, &OFFER).ok()?;
        self.phase = Phase::Answer;
        Some(Step::GoOn(offer.to_vec()))
    }

    /// A keytab may have keys of other services of the machine: a ticket for one of them is not one for this.
    fn is_for_us(&self) -> Result<bool, Error> {
        let target = self.context.target_name()?.display_name()?;
        Ok(self.context.mechanism()? == GSS_MECH_KRB5 && target.starts_with(SERVICE.as_bytes()))
    }

    fn answer(&mut self, message: &[u8]) -> Option<Step> {
        let answer = self.context.unwrap(message).ok()?.to_vec();
        if answer.len() > SASL_BYTES_MAX {
            return None;
        }
        let name = self.context.source_name().ok()?.display_name().ok()?;
        let principal = String::from_utf8(name.to_vec()).ok()?;
        Some(Step::Answered { principal, answer })
    }
}
