//! The searches decoded last, kept so that one which asks the same of another entry need not be decoded again: nearly
//! all searches of a client are of a few forms and differ in a DN or in one assertion value.
//!
//! A form is recognised by its bytes: all of a request but the part that differs is compared, so two requests of one form cannot mean
//! different things. The requester's class is part of a form, since what an answer shows depends on it. Each thread has forms of its own and no lock.

use crate::access::{ClassId, ViewId};
use crate::entry_writer::Chosen;
use model::{Scope, TypeId, short};
use proto::outline::Outline;
use proto::{filter, tag};
use smallvec::SmallVec;
use store::search::Compiled;

/// Forms remembered per thread.
/// More would make the search for an unknown form long; the last one that was met is tried first.
const FORMS_MAX: usize = 16;
/// Views of one class that a form is remembered with.
const VIEWS_MAX: usize = 4;
/// Longer searches are not worth remembering.
const FORM_BYTES_MAX: usize = 512;

/// The form of a recent search: where it is kept, and its number, since another one may have taken its place.
/// It is made when a group is gathered and used when the request runs: in between another request may have replaced the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Again {
    place: usize,
    number: u64,
}

/// Where an assertion value lies in a buffer: its normal form, and behind that the value as it was sent.
/// Offsets, not a slice, for the buffer grows while the group is gathered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asserted {
    start: u32,
    raw: u32,
    end: u32,
}

impl Asserted {
    /// Appends the value behind its normal form, which lies in `keys` from `start` on.
    #[inline]
    pub(crate) fn push_raw(start: usize, value: &[u8], keys: &mut Vec<u8>) -> Asserted {
        assert!(start <= keys.len(), "the normal form was appended before");
        let raw = keys.len() as u32;
        keys.extend_from_slice(value);
        Asserted { start: start as u32, raw, end: keys.len() as u32 }
    }

    #[inline]
    pub(crate) fn normal(self, keys: &[u8]) -> &[u8] {
        &keys[self.start as usize..self.raw as usize]
    }

    #[inline]
    pub(crate) fn raw(self, keys: &[u8]) -> &[u8] {
        &keys[self.raw as usize..self.end as usize]
    }
}

/// Forms of recent searches.
#[derive(Default)]
pub(crate) struct Recent {
    forms: Vec<Form>,
    /// The one that was met last.
    last: usize,
    /// Forms kept so far.
    count: u64,
}

/// What searches of one form have in common: regular messages without controls.
struct Form {
    number: u64,
    // Another class may see other attributes under the same view of another thread: numbers of both are of this thread.
    class: ClassId,
    /// By the view that the requester has on an entry: how it is written. The oldest makes way.
    chosen: SmallVec<[(ViewId, Chosen); VIEWS_MAX]>,
    asks: Asks,
}

enum Asks {
    /// For one entry, whatever its attributes are. What follows the base, undecoded.
    Base(Vec<u8>),
    Equality(Box<Equality>),
}

/// A search below a base by an equality assertion.
pub(crate) struct Equality {
    pub(crate) base: Vec<u8>,
    pub(crate) scope: Scope,
    /// Ready but for the assertion value.
    pub(crate) filter: Compiled,
    /// A view by which an entry may be the base.
    pub(crate) base_view: ViewId,
    pub(crate) attribute_type: TypeId,
    /// What stands between the base and the filter, undecoded.
    before: Vec<u8>,
    /// The element of the attribute description.
    attribute: Vec<u8>,
    /// What follows the filter.
    after: Vec<u8>,
}

impl Recent {
    /// Is this a search for one entry, whatever its attributes are, of a known form?
    /// Names with bytes beyond ASCII are left to the decoder, which checks that they are UTF-8.
    #[inline]
    pub(crate) fn repeats_base(&mut self, outline: &Outline<'_>, class: ClassId) -> Option<Again> {
        if !outline.after.is_empty() || !outline.dn.is_ascii() {
            return None;
        }
        self.find(
            |form| matches!(&form.asks, Asks::Base(rest) if form.class == class && rest == outline.rest),
        )
    }

    /// Is this an equality search of a known form? Then its assertion value comes along.
    #[inline]
    pub(crate) fn repeats_equality<'a>(
        &mut self,
        outline: &Outline<'a>,
        class: ClassId,
    ) -> Option<(Again, &'a [u8])> {
        if !outline.after.is_empty() {
            return None;
        }
        // The closure is called of several forms, of the found one last: then this is its value.
        let mut value = None;
        let again = self.find(|form| {
            value = match &form.asks {
                Asks::Equality(equality) if form.class == class => equality.value(outline),
                _ => None,
            };
            value.is_some()
        })?;
        value.map(|value| (again, value))
    }

    /// Forgets all forms: definitions were added to the schema, and a name may mean something else now.
    pub(crate) fn forget(&mut self) {
        self.forms.clear();
        self.last = 0;
    }

    /// Nearly always the last one that was met: one comparison.
    #[inline]
    fn find(&mut self, mut is_it: impl FnMut(&Form) -> bool) -> Option<Again> {
        if !self.forms.get(self.last).is_some_and(&mut is_it) {
            // Where none fits, the last one stays the first to be tried.
            self.last = self.forms.iter().position(is_it)?;
        }
        Some(Again { place: self.last, number: self.forms[self.last].number })
    }

    /// The attribute type that an equality search asserts of.
    #[inline]
    pub(crate) fn attribute_type(&self, again: Again) -> Option<TypeId> {
        match &self.forms.get(again.place)?.asks {
            Asks::Equality(equality) => Some(equality.attribute_type),
            Asks::Base(_) => None,
        }
    }

    /// The selection of a form, and its equality assertion if it has one. `None` if it is not one for who is of this
    /// class: a bind may have come in between.
    #[inline]
    pub(crate) fn form(
        &mut self,
        again: Again,
        class: ClassId,
    ) -> Option<(KnownViews<'_>, Option<&mut Equality>)> {
        // Another request of the bundle may have put a form in its place since.
        let form = self.forms.get_mut(again.place);
        let form = form.filter(|form| form.number == again.number && form.class == class);
        form.map(|form| match &mut form.asks {
            Asks::Base(_) => (KnownViews(&form.chosen), None),
            Asks::Equality(equality) => (KnownViews(&form.chosen), Some(&mut **equality)),
        })
    }

    /// Remembers a search for one entry that is true of every entry.
    pub(crate) fn keep_base(&mut self, outline: &Outline<'_>, class: ClassId) -> Option<Again> {
        if !is_worth_it(outline) {
            return None;
        }
        let known = self.repeats_base(outline, class);
        Some(known.unwrap_or_else(|| self.keep(class, Asks::Base(outline.rest.to_vec()))))
    }

    /// Remembers how an entry is written that a requester of the form has this view on.
    /// Only of entries that were written, so that a view that is known here is one that may read. Templates that were
    /// forgotten are known by `chosen`, views that were forgotten are never asked for.
    pub(crate) fn note_view(&mut self, again: Again, view: ViewId, chosen: Chosen) {
        let Some(form) = self.forms.get_mut(again.place).filter(|form| form.number == again.number) else {
            return;
        };
        match form.chosen.iter_mut().find(|(known, _)| *known == view) {
            Some(known) => known.1 = chosen,
            None => {
                if form.chosen.len() == VIEWS_MAX {
                    form.chosen.remove(0);
                }
                form.chosen.push((view, chosen));
            }
        }
    }

    /// Remembers a search that is nothing but an equality assertion on a plain attribute.
    pub(crate) fn keep_equality(
        &mut self,
        outline: &Outline<'_>,
        class: ClassId,
        (scope, base_view): (Scope, ViewId),
        filter: &Compiled,
    ) -> Option<Again> {
        let attribute_type = filter.equality_type().filter(|_| is_worth_it(outline))?;
        if let Some((known, _)) = self.repeats_equality(outline, class) {
            return Some(known);
        }
        // What has a long form of length, or another order of elements, is not kept.
        let (before, attribute, after) = take_apart(outline.rest)?;
        let equality = Equality {
            base: outline.dn.to_vec(),
            scope,
            filter: filter.clone(),
            base_view,
            attribute_type,
            before: before.to_vec(),
            attribute: attribute.to_vec(),
            after: after.to_vec(),
        };
        Some(self.keep(class, Asks::Equality(Box::new(equality))))
    }

    /// In turn: each takes the place of the oldest.
    fn keep(&mut self, class: ClassId, asks: Asks) -> Again {
        // Numbers ascend and none is used twice, so a form differs from the one whose place it took.
        let form = Form { number: self.count, class, chosen: SmallVec::new(), asks };
        let again = Again { place: self.count as usize % FORMS_MAX, number: self.count };
        match self.forms.get_mut(again.place) {
            Some(oldest) => *oldest = form,
            None => self.forms.push(form),
        }
        assert!(self.forms.len() <= FORMS_MAX, "forms take each other's places");
        self.count += 1;
        again
    }
}

/// How entries are written, by the view on them.
#[derive(Clone, Copy)]
pub(crate) struct KnownViews<'f>(&'f [(ViewId, Chosen)]);

impl KnownViews<'_> {
    /// Nearly always the first.
    #[inline]
    pub(crate) fn of(self, view: ViewId) -> Option<Chosen> {
        self.0.iter().find(|(known, _)| *known == view).map(|(_, chosen)| *chosen)
    }
}

/// May a request be kept to be compared with later ones?
fn is_worth_it(outline: &Outline<'_>) -> bool {
    // A search with controls is never kept: the outline does not tell what they mean.
    outline.after.is_empty() && outline.dn.len() + outline.rest.len() <= FORM_BYTES_MAX
}

impl Equality {
    /// The assertion value of a search that is like this one in everything else.
    /// Lengths that take more than one byte are left to the decoder: such values are rare, and no two requests then share a form by chance.
    #[inline]
    fn value<'a>(&self, outline: &Outline<'a>) -> Option<&'a [u8]> {
        let filter = short::strip_prefix(outline.rest, &self.before)?;
        let (assertion, after) = short_element(filter, filter::EQUALITY)?;
        let (value, end) =
            short_element(short::strip_prefix(assertion, &self.attribute)?, tag::OCTET_STRING)?;
        let is_same =
            end.is_empty() && short::equal(after, &self.after) && short::equal(outline.dn, &self.base);
        is_same.then_some(value)
    }
}

/// The contents of an element with this tag and a length of one byte, and what follows it.
#[inline]
fn short_element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    match bytes {
        [first, len @ 0..0x80, rest @ ..] if *first == tag => rest.split_at_checked(usize::from(*len)),
        _ => None,
    }
}

/// Of what follows the base in a search by an equality assertion: what stands before the filter, the element of its
/// attribute description, what follows the filter.
/// RFC 4511 section 4.5.1: scope, derefAliases, sizeLimit, timeLimit and typesOnly stand before the filter, the attributes after it.
fn take_apart(rest: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut filter = rest;
    for tag in [tag::ENUMERATED, tag::ENUMERATED, tag::INTEGER, tag::INTEGER, tag::BOOLEAN] {
        filter = short_element(filter, tag)?.1;
    }
    let (assertion, after) = short_element(filter, filter::EQUALITY)?;
    let (_, value) = short_element(assertion, tag::OCTET_STRING)?;
    Some((&rest[..rest.len() - filter.len()], &assertion[..assertion.len() - value.len()], after))
}
