//! The entries that a server that runs shows.

use super::entries::{CompareError, Entries, Side};
use super::rules::Rules;
use client::{ClientError, EVERYTHING, Link, Page, Pages, Server, values};
use model::Scope;
use model::filter::Filter;
use proto::filter_string::FilterBuf;
use proto::list::Attributes;

/// Which entries of the servers are compared.
#[derive(Clone)]
pub struct Below {
    /// How far below the bases.
    pub scope: Scope,
    /// Only entries that match.
    pub filter: Option<FilterBuf>,
    /// Operational attributes too?
    pub operational: bool,
}

/// A server, read by paged searches.
pub struct Held<'b> {
    link: Link,
    bases: Vec<Vec<u8>>,
    below: &'b Below,
}

impl<'b> Held<'b> {
    /// Connects and binds.
    ///
    /// # Errors
    /// What the network or the server says.
    pub fn open(server: &Server, below: &'b Below) -> Result<Held<'b>, ClientError> {
        Ok(Held { link: Link::open(server)?, bases: Vec::new(), below })
    }

    fn attributes(&self) -> &'static [&'static [u8]] {
        // The schema calls it operational, and a referral object is nothing without it.
        if self.below.operational { &[b"*", b"+"] } else { &[b"*", b"ref"] }
    }
}

impl Entries for Held<'_> {
    fn each(
        &mut self,
        names_only: bool,
        each: &mut dyn FnMut(&[u8], Attributes<'_>),
    ) -> Result<bool, ClientError> {
        let attributes = if names_only { &[&b"1.1"[..]] } else { self.attributes() };
        let filter = self.below.filter.as_ref().map_or(EVERYTHING, FilterBuf::filter);
        let mut has_base = false;
        for base in &self.bases {
            has_base |=
                search((&mut self.link, base, self.below.scope), filter.clone(), attributes, &mut *each)?;
        }
        Ok(has_base)
    }

    /// Without the filter: an entry that matched may not match any more, and its values say why.
    fn read(&mut self, dn: &[u8]) -> Result<Option<Vec<u8>>, ClientError> {
        let (attributes, mut found) = (self.attributes(), None);
        search((&mut self.link, dn, Scope::Base), EVERYTHING, attributes, &mut |_, attributes| {
            found = Some(attributes.raw().to_vec());
        })?;
        Ok(found)
    }
}

/// All pages of a search; false if there is no such base.
fn search(
    (link, base, scope): (&mut Link, &[u8], Scope),
    filter: Filter<'_>,
    attributes: &[&[u8]],
    each: &mut dyn FnMut(&[u8], Attributes<'_>),
) -> Result<bool, ClientError> {
    let mut pages = Pages::new(base, scope, filter, attributes);
    loop {
        let page = pages.next(link, &mut |entry| {
            each(entry.dn, entry.attributes);
            Ok::<_, ClientError>(())
        })?;
        match page {
            Page::More => {}
            Page::Last => return Ok(true),
            Page::NoBase(_) => return Ok(false),
        }
    }
}

/// Where a comparison begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bases {
    /// How many bases both have.
    pub common: usize,
    /// Naming contexts that one server alone names.
    pub left: Vec<(Side, Vec<u8>)>,
}

/// Has two servers compared below a base, or below the naming contexts that both name.
///
/// # Errors
/// When one of them cannot be asked.
pub fn bases(
    servers: [&mut Held<'_>; 2],
    rules: &Rules<'_>,
    base: Option<&str>,
) -> Result<Bases, CompareError> {
    let [first, second] = servers;
    if let Some(base) = base {
        (first.bases, second.bases) = (vec![base.into()], vec![base.into()]);
        return Ok(Bases { common: 1, left: Vec::new() });
    }
    let contexts = |held: &mut Held<'_>, side| {
        let found = values(&mut held.link, b"", b"namingContexts");
        let found = found.map_err(|error| CompareError::Client(side, error))?;
        // The root DSE is no naming context.
        let found = found.into_iter().filter(|dn| !dn.is_empty());
        Ok(found.map(|dn| (rules.dn_form(&dn), dn)).collect::<Vec<_>>())
    };
    let of_first = contexts(first, Side::First)?;
    let mut of_second = contexts(second, Side::Second)?;
    let mut bases = Bases::default();
    for (form, dn) in of_first {
        match of_second.iter().position(|(other, _)| *other == form) {
            Some(at) => {
                first.bases.push(dn);
                second.bases.push(of_second.swap_remove(at).1);
            }
            None => bases.left.push((Side::First, dn)),
        }
    }
    bases.common = first.bases.len();
    bases.left.extend(of_second.into_iter().map(|(_, dn)| (Side::Second, dn)));
    Ok(bases)
}
