//! Lines as the access log of 389 Directory Server has them, for `logconv.pl` and its like. Request and result of an operation stand together,
//! when the result is known.

use super::json::operation_of;
use super::words::{append, put, put_quoted, seconds};
use crate::line::{Lines, Operation, Origin, Outcome, Place};
use crate::open::Pending;
use model::csn::civil;
use proto::{filter_string, tag};
use std::io::Write as _;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Of a step of SASL that asks for another.
const IN_PROGRESS: u16 = 14;

/// The form.
#[derive(Debug)]
pub(super) struct Ds389 {
    origin: Origin,
}

/// Appends the time and the connection.
fn head(wall_ms: u64, connection: u64, out: &mut Vec<u8>) {
    put_time(wall_ms, out);
    append!(out, "conn={connection}");
}

fn put_time(wall_ms: u64, out: &mut Vec<u8>) {
    let (year, month, day, hour, minute, second) = civil(wall_ms);
    let name = MONTHS.get((month as usize).saturating_sub(1)).copied().unwrap_or_default();
    let ns = wall_ms % 1000 * 1_000_000;
    append!(out, "[{day:02}/{name}/{year:04}:{hour:02}:{minute:02}:{second:02}.{ns:09} +0000] ");
}

/// A line of an operation, up to its words.
fn line(wall_ms: u64, operation: &Operation<'_>, words: &str, out: &mut Vec<u8>) {
    head(wall_ms, operation.place.connection, out);
    append!(out, " op={} {words}", operation.pending.number.saturating_sub(1));
}

fn request(operation: &Operation<'_>, out: &mut Vec<u8>) {
    let pending = operation.pending;
    let words = match pending.op {
        tag::BIND => "BIND",
        tag::SEARCH => "SRCH",
        tag::MODIFY => "MOD",
        tag::ADD => "ADD",
        tag::DELETE => "DEL",
        tag::MODIFY_DN => "MODRDN",
        tag::COMPARE => "CMP",
        tag::EXTENDED => "EXT",
        tag::ABANDON => "ABANDON",
        tag::UNBIND => "UNBIND",
        _ => "MALFORMED",
    };
    line(pending.wall_ms, operation, words, out);
    match pending.op {
        tag::BIND => bind(pending, out),
        tag::SEARCH => search(pending, out),
        tag::MODIFY | tag::ADD | tag::DELETE => put_quoted(out, "dn", &pending.target),
        tag::MODIFY_DN => {
            let (new_rdn, superior) = pending.new_name();
            put_quoted(out, "dn", &pending.target);
            put_quoted(out, "newrdn", new_rdn);
            put_quoted(out, "newsuperior", superior.unwrap_or(b"(null)"));
        }
        tag::COMPARE => {
            put_quoted(out, "dn", &pending.target);
            put_quoted(out, "attr", &pending.detail);
        }
        tag::EXTENDED => put_quoted(out, "oid", &pending.detail),
        tag::ABANDON => {
            match operation.place.open.number_of(&pending.detail) {
                Some(number) => append!(out, " targetop={}", number.saturating_sub(1)),
                None => append!(out, " targetop=NOTFOUND"),
            }
            append!(out, " msgid=");
            put(out, &pending.detail);
        }
        _ => {}
    }
    if let Some(identity) = pending.acts_as() {
        put_quoted(out, "authzid", identity);
    }
    out.push(b'\n');
}

fn bind(pending: &Pending, out: &mut Vec<u8>) {
    put_quoted(out, "dn", &pending.target);
    match pending.is_sasl() {
        true => {
            append!(out, " method=sasl version=3 mech=");
            put(out, &pending.detail);
        }
        false => append!(out, " method=128 version=3"),
    }
}

fn search(pending: &Pending, out: &mut Vec<u8>) {
    put_quoted(out, "base", &pending.target);
    let Some(search) = pending.search() else { return append!(out, " scope=-1 filter=\"(?)\" attrs=ALL") };
    append!(out, " scope={}", search.scope as u8);
    let mut filter = Vec::new();
    filter_string::write(&search.filter, &mut filter);
    put_quoted(out, "filter", &filter);
    match search.selection.is_empty() {
        true => append!(out, " attrs=ALL"),
        false => put_quoted(out, "attrs", &search.selection.iter().collect::<Vec<_>>().join(&b' ')),
    }
}

fn result(operation: &Operation<'_>, outcome: &Outcome<'_>, out: &mut Vec<u8>) {
    let pending = operation.pending;
    line(operation.ended_ms, operation, "RESULT", out);
    let response = tag::response_to(pending.op).unwrap_or_default();
    let waited_ns = u64::from(pending.wait_us) * 1000;
    let (wait, work) = (seconds(waited_ns, 9), seconds(outcome.ns.saturating_sub(waited_ns), 9));
    let time = seconds(outcome.ns, 9);
    append!(out, " err={} tag={response} nentries={}", outcome.code, outcome.entries);
    append!(out, " wtime={wait} optime={work} etime={time}");
    if outcome.annotation.is_unindexed {
        append!(out, " notes=U details=\"Partially Unindexed Filter\"");
    }
    match (&pending.becomes, outcome.code) {
        (became, 0) if pending.op == tag::BIND => {
            put_quoted(out, "dn", became.as_deref().unwrap_or_default())
        }
        (_, IN_PROGRESS) if pending.op == tag::BIND => append!(out, ", SASL bind in progress"),
        _ if !outcome.text.is_empty() => {
            append!(out, " - ");
            put(out, outcome.text);
        }
        _ => {}
    }
    out.push(b'\n');
}

impl Ds389 {
    pub(super) fn new(origin: Origin) -> Ds389 {
        Ds389 { origin }
    }
}

impl Lines for Ds389 {
    /// Lines that begin with blanks: the version, and the server.
    fn header(&self, out: &mut Vec<u8>) {
        let Origin { version, host, process, .. } = &self.origin;
        append!(out, "\tPando/{version}\n\t{host}:{process}\n\n");
    }

    fn begins_late(&self) -> bool {
        true
    }

    fn begin(&self, place: Place<'_>, out: &mut Vec<u8>) {
        let open = place.open;
        head(open.began_ms, place.connection, out);
        append!(out, " fd={} slot={}", open.slot, open.slot);
        let is_secured = open.strength > 0 && open.operations <= 1;
        append!(out, " {}connection from ", if is_secured { "SSL " } else { "" });
        match open.is_local() {
            true => append!(out, "local"),
            false => put(out, open.host().as_bytes()),
        }
        append!(out, " to ");
        put(out, open.listener.as_bytes());
        out.push(b'\n');
        if open.strength > 0 {
            self.secured(open.began_ms, place, out);
        }
    }

    fn secured(&self, wall_ms: u64, place: Place<'_>, out: &mut Vec<u8>) {
        head(wall_ms, place.connection, out);
        // As it writes them: the version without its letter, the cipher without what is said already.
        let version = place.open.version.replace("TLSv", "TLS");
        let version = if version.is_empty() { "TLS" } else { &version };
        let cipher = place.open.suite.rsplit_once("_WITH_").map_or(&*place.open.suite, |(_, cipher)| cipher);
        let cipher = cipher.trim_start_matches("TLS_").rsplit_once('_').map_or("", |(cipher, _)| cipher);
        out.push(b' ');
        put(out, version.as_bytes());
        append!(out, " {}-bit", place.open.strength);
        if !cipher.is_empty() {
            out.push(b' ');
            put(out, cipher.replace("_128", "").replace("_256", "").replace('_', "-").as_bytes());
        }
        out.push(b'\n');
    }

    fn operation(&self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        request(operation, out);
        if let Some(outcome) = &operation.outcome {
            result(operation, outcome, out);
        }
    }

    fn end(&self, wall_ms: u64, place: Place<'_>, out: &mut Vec<u8>) {
        let open = place.open;
        if !open.counted.is_empty() {
            head(wall_ms, place.connection, out);
            append!(out, " op=-1 COUNTED");
            for (op, count) in &open.counted {
                append!(out, " {}={count}", operation_of(*op));
            }
            out.push(b'\n');
        }
        head(wall_ms, place.connection, out);
        match open.is_lost() {
            true => append!(out, " op=-1 fd={} closed - B1\n", open.slot),
            false => append!(out, " op={} fd={} closed - U1\n", open.operations.saturating_sub(1), open.slot),
        }
    }

    fn lost(&self, wall_ms: u64, count: u64, out: &mut Vec<u8>) {
        put_time(wall_ms, out);
        append!(out, "LOST count={count}\n");
    }
}
