//! Export of a server that runs: paged searches (RFC 2696).

use crate::export::{Export, ExportError, Exported, Output};
use crate::operational::{Foreign, Operational, foreign};
use client::{ClientError, EVERYTHING, Link, Page, Pages, Server, values};
use model::Scope;
use proto::filter_string::FilterBuf;
use proto::ldif::{write_attribute, write_dn};
use proto::op::search::SearchEntry;
use std::io::{self, Write};

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
    let mut reading = Reading { output: Output::new(to) };
    let attributes: &[&[u8]] = if what.operational == Operational::Strip { &[b"*"] } else { &[b"*", b"+"] };
    for base in &bases {
        let mut pages = Pages::new(base, Scope::Subtree, filter.clone(), attributes);
        loop {
            let page = pages.next(&mut link, &mut |entry| Ok::<_, ExportError>(reading.entry(entry)?))?;
            on_progress(reading.output.done);
            match page {
                Page::More => {}
                Page::Last => break,
                Page::NoBase(why) => return Err(ClientError::Refused(why).into()),
            }
        }
    }
    Ok(reading.output.finish()?)
}

/// An export in progress.
struct Reading<'w> {
    output: Output<'w>,
}

impl Reading<'_> {
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
