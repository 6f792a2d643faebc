//! Lines as slapd's log level `stats` writes them, with the head that its `logfile-format rfc3339-utc` and rsyslog give them. Request and result
//! of an operation stand together, when the result is known.

use super::json::operation_of;
use super::words::{append, put, put_quoted, seconds};
use crate::line::{Lines, Operation, Origin, Outcome, Place};
use crate::open::Pending;
use model::timestamp::timestamp;
use proto::{filter_string, tag};
use std::io::Write as _;

/// What `method` says of a bind by SASL, as the tag of its choice (RFC 4511 section 4.2), and of a simple one.
const METHOD_SASL: u8 = 163;
const METHOD_SIMPLE: u8 = 128;
/// Extended operations that slapd names besides their OID.
const NAMES: [(&[u8], &str); 2] =
    [(b"1.3.6.1.4.1.1466.20037", "STARTTLS"), (b"1.3.6.1.4.1.4203.1.11.3", "WHOAMI")];

/// The form.
#[derive(Debug)]
pub(super) struct Openldap {
    /// ` HOST slapd[PROCESS]: `, as tools look for it.
    program: String,
}

impl Openldap {
    pub(super) fn new(origin: Origin) -> Openldap {
        Openldap { program: format!(" {} slapd[{}]: ", origin.host, origin.process) }
    }

    fn head(&self, wall_ms: u64, connection: u64, out: &mut Vec<u8>) {
        append!(out, "{}{}conn={connection}", timestamp(wall_ms), self.program);
    }

    /// A line of an operation, up to its words.
    fn line(&self, wall_ms: u64, operation: &Operation<'_>, words: &str, out: &mut Vec<u8>) {
        self.head(wall_ms, operation.place.connection, out);
        append!(out, " op={} {words}", operation.pending.number.saturating_sub(1));
    }

    fn request(&self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        let (pending, came) = (operation.pending, operation.pending.wall_ms);
        if let Some(identity) = pending.acts_as() {
            self.line(came, operation, "PROXYAUTHZ", out);
            put_quoted(out, "dn", identity);
            out.push(b'\n');
        }
        match pending.op {
            tag::BIND => return self.bind(operation, out),
            tag::SEARCH => return self.search(operation, out),
            tag::MODIFY => self.line(came, operation, "MOD", out),
            tag::ADD => self.line(came, operation, "ADD", out),
            tag::DELETE => self.line(came, operation, "DEL", out),
            tag::MODIFY_DN => self.line(came, operation, "MODRDN", out),
            tag::COMPARE => self.line(came, operation, "CMP", out),
            tag::EXTENDED => return self.extended(operation, out),
            tag::ABANDON => self.line(came, operation, "ABANDON msg=", out),
            tag::UNBIND => self.line(came, operation, "UNBIND", out),
            _ => self.line(came, operation, "MALFORMED", out),
        }
        match pending.op {
            tag::ABANDON => put(out, &pending.detail),
            tag::COMPARE => {
                put_quoted(out, "dn", &pending.target);
                put_quoted(out, "attr", &pending.detail);
            }
            tag::MODIFY | tag::ADD | tag::DELETE | tag::MODIFY_DN => put_quoted(out, "dn", &pending.target),
            _ => {}
        }
        out.push(b'\n');
        if pending.op == tag::MODIFY {
            let types: Vec<_> = pending.words().map(type_of).collect();
            self.line(came, operation, "MOD attr=", out);
            put(out, &types.join(&b' '));
            out.push(b'\n');
        }
    }

    fn bind(&self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        let (pending, came) = (operation.pending, operation.pending.wall_ms);
        let strength = operation.place.open.strength;
        if operation.was_bound {
            self.line(came, operation, "BIND anonymous mech=implicit bind_ssf=0", out);
            append!(out, " ssf={strength}\n");
        }
        let method = if pending.is_sasl() { METHOD_SASL } else { METHOD_SIMPLE };
        self.line(came, operation, "BIND", out);
        put_quoted(out, "dn", &pending.target);
        append!(out, " method={method}\n");
        let became = pending.becomes.as_ref().filter(|_| operation.outcome.is_some_and(|o| o.code == 0));
        if let Some(dn) = became.filter(|dn| !dn.is_empty()) {
            self.line(operation.ended_ms, operation, "BIND", out);
            put_quoted(out, "dn", dn);
            append!(out, " mech=");
            if pending.is_sasl() {
                put(out, &pending.detail)
            } else {
                append!(out, "SIMPLE")
            }
            append!(out, " bind_ssf=0 ssf={strength}\n");
        }
    }

    fn search(&self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        let (pending, came) = (operation.pending, operation.pending.wall_ms);
        self.line(came, operation, "SRCH", out);
        put_quoted(out, "base", &pending.target);
        let Some(search) = pending.search() else {
            return append!(out, " scope=-1 deref=-1 filter=\"(?)\"\n");
        };
        append!(out, " scope={} deref={}", search.scope as u8, search.deref_aliases as u8);
        let mut filter = Vec::new();
        filter_string::write(&search.filter, &mut filter);
        put_quoted(out, "filter", &filter);
        out.push(b'\n');
        if !search.selection.is_empty() {
            self.line(came, operation, "SRCH attr=", out);
            put(out, &search.selection.iter().collect::<Vec<_>>().join(&b' '));
            out.push(b'\n');
        }
    }

    fn extended(&self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        let (pending, came) = (operation.pending, operation.pending.wall_ms);
        self.line(came, operation, "EXT oid=", out);
        put(out, &pending.detail);
        out.push(b'\n');
        if let Some((_, name)) = NAMES.iter().find(|(oid, _)| *oid == pending.detail) {
            self.line(came, operation, name, out);
            out.push(b'\n');
        }
    }

    fn result(&self, operation: &Operation<'_>, outcome: &Outcome<'_>, out: &mut Vec<u8>) {
        let Pending { op, .. } = *operation.pending;
        let words = if op == tag::SEARCH { "SEARCH RESULT" } else { "RESULT" };
        self.line(operation.ended_ms, operation, words, out);
        match op {
            tag::EXTENDED => append!(out, " oid="),
            _ => append!(out, " tag={}", tag::response_to(op).unwrap_or_default()),
        }
        let waited = seconds(u64::from(operation.pending.wait_us) * 1000, 6);
        append!(out, " err={} qtime={waited} etime={}", outcome.code, seconds(outcome.ns, 6));
        if op == tag::SEARCH {
            append!(out, " nentries={}", outcome.entries);
        }
        append!(out, " text=");
        put(out, outcome.text);
        out.push(b'\n');
    }
}

/// The type of a change, without what is done with it.
fn type_of(word: &[u8]) -> &[u8] {
    word.iter().position(|octet| *octet == b':').map_or(word, |at| &word[at + 1..])
}

/// A listener as slapd writes it: `IP=ADDRESS:PORT`, `PATH=SOCKET`, or the name that it was given.
fn put_listener(out: &mut Vec<u8>, listener: &str) {
    let (head, rest) = match listener.split_once("://") {
        Some(("ldap" | "ldaps", address)) => ("IP=", address),
        Some(("ldapi", path)) => ("PATH=", path),
        _ => ("", listener),
    };
    out.extend_from_slice(head.as_bytes());
    put(out, rest.as_bytes());
}

impl Lines for Openldap {
    fn header(&self, _: &mut Vec<u8>) {}

    fn begins_late(&self) -> bool {
        false
    }

    fn begin(&self, place: Place<'_>, out: &mut Vec<u8>) {
        let open = place.open;
        self.head(open.began_ms, place.connection, out);
        let head = if open.is_local() { "PATH=" } else { "IP=" };
        append!(out, " fd={} ACCEPT from {head}", open.slot);
        put(out, open.peer.as_bytes());
        append!(out, " (");
        put_listener(out, &open.listener);
        append!(out, ")\n");
        if open.strength > 0 {
            self.secured(open.began_ms, place, out);
        }
    }

    fn secured(&self, wall_ms: u64, place: Place<'_>, out: &mut Vec<u8>) {
        self.head(wall_ms, place.connection, out);
        let (slot, strength) = (place.open.slot, place.open.strength);
        append!(out, " fd={slot} TLS established tls_ssf={strength} ssf={strength}");
        if !place.open.suite.is_empty() {
            append!(out, " tls_proto=");
            put(out, place.open.version.as_bytes());
            append!(out, " tls_cipher=");
            put(out, place.open.suite.as_bytes());
        }
        out.push(b'\n');
    }

    fn operation(&self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.request(operation, out);
        if let Some(outcome) = &operation.outcome {
            self.result(operation, outcome, out);
        }
    }

    fn end(&self, wall_ms: u64, place: Place<'_>, out: &mut Vec<u8>) {
        if !place.open.counted.is_empty() {
            self.head(wall_ms, place.connection, out);
            append!(out, " COUNTED");
            for (op, count) in &place.open.counted {
                append!(out, " {}={count}", operation_of(*op));
            }
            out.push(b'\n');
        }
        self.head(wall_ms, place.connection, out);
        append!(
            out,
            " fd={} closed{}\n",
            place.open.slot,
            if place.open.is_lost() { " (connection lost)" } else { "" }
        );
    }

    fn lost(&self, wall_ms: u64, count: u64, out: &mut Vec<u8>) {
        append!(out, "{}{}LOST count={count}\n", timestamp(wall_ms), self.program);
    }
}
