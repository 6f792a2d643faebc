//! Export of a server that runs: paged searches (RFC 2696).

use crate::export::{Export, ExportError, Exported, Output};
use crate::operational::{Foreign, Operational, foreign};
use client::{ClientError, EVERYTHING, Link, Server, refusal, values};
use model::Scope;
use model::filter::Filter;
use proto::control::Control;
use proto::control::manage_dsa_it;
use proto::control::paged_results::{self, PagedResults};
use proto::filter_string::FilterBuf;
use proto::ldif::{write_attribute, write_dn};
use proto::list::Octets;
use proto::list::octet_list;
use proto::message::{Reply, Request, Response};
use proto::op::Search;
use proto::op::search::SearchEntry;
use std::io::{self, Write};

/// Entries of one page.
const PAGE: i32 = 1000;

/// Writes what a server shows as LDIF content records, in its order: below the base, or below each of its naming contexts.
/// Memory is bounded by a piece of 1 MiB and the longest entry. `on_progress` is called now and then.
///
/// # Errors
/// What the server or the network says, or what writing does.
pub fn read(
    server: &Server,
    what: &Export,
    to: &mut dyn Write,
    on_progress: &mut dyn FnMut(Exported),
) -> Result<Exported, ExportError> {
    let mut link = Link::open(server)?;
    let bases = match &what.base {
        Some(base) => vec![base.clone().into_bytes()],
        // The root DSE is no naming context.
        None => values(&mut link, b"", b"namingContexts")?.into_iter().filter(|dn| !dn.is_empty()).collect(),
    };
    let filter = what.filter.as_ref().map_or(EVERYTHING, FilterBuf::filter);
    let mut reading = Reading { operational: what.operational, output: Output::new(to) };
    for base in &bases {
        let mut cookie = Vec::new();
        loop {
            reading.page(&mut link, base, filter.clone(), &mut cookie)?;
            on_progress(reading.output.done);
            if cookie.is_empty() {
                break;
            }
        }
    }
    Ok(reading.output.finish()?)
}

/// An export in progress.
struct Reading<'w> {
    operational: Operational,
    output: Output<'w>,
}

impl Reading<'_> {
    /// Asks for one page and writes it. The cookie is that of the next one, empty behind the last.
    fn page(
        &mut self,
        link: &mut Link,
        base: &[u8],
        filter: Filter<'_>,
        cookie: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let selectors: &[&[u8]] =
            if self.operational == Operational::Strip { &[b"*"] } else { &[b"*", b"+"] };
        let selection = octet_list(selectors.iter().copied());
        let selection = Octets::parse(&selection).map_err(|_| ClientError::Malformed("nothing"))?;
        let mut value = Vec::new();
        PagedResults { size: PAGE, cookie }.encode(&mut value);
        let paged = Control { oid: paged_results::OID, critical: true, value: Some(&value) };
        let controls = [paged, manage_dsa_it::control(false)];
        let request = Request::Search(Search::unlimited(base, Scope::Subtree, filter, selection));
        link.push(|out, id| request.encode(out, id, &controls));
        loop {
            if let Some(next) = link.receive(|reply| self.take(reply))?? {
                *cookie = next;
                return Ok(());
            }
        }
    }

    /// Takes a reply; at the end of the page the cookie of the next one.
    fn take(&mut self, reply: &Reply<'_>) -> Result<Option<Vec<u8>>, ExportError> {
        if let Response::SearchEntry(entry) = &reply.response {
            self.entry(entry)?;
            return Ok(None);
        }
        let Some(result) = reply.result() else { return Ok(None) };
        if let Some(why) = refusal(&result) {
            return Err(ClientError::Refused(why).into());
        }
        let Some(control) = reply.controls.find(paged_results::OID) else { return Ok(Some(Vec::new())) };
        let paged = PagedResults::decode(control.value.unwrap_or_default());
        let paged = paged.map_err(|_| ClientError::Malformed("a page without a cookie"))?;
        Ok(Some(paged.cookie.to_vec()))
    }

    fn entry(&mut self, entry: &SearchEntry<'_>) -> io::Result<()> {
        write_dn(&mut self.output.piece, entry.dn);
        for attribute in entry.attributes.iter() {
            if foreign(attribute.description) == Some(Foreign::Derived) {
                continue;
            }
            for value in attribute.values.iter() {
                write_attribute(&mut self.output.piece, attribute.description, value);
                self.output.flush_if_full()?;
            }
        }
        self.output.piece.push(b'\n');
        self.output.done.entries += 1;
        self.output.done.seen += 1;
        Ok(())
    }
}
