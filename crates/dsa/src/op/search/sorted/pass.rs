//! Entries that an index brings in the order of the list: each is judged once and returned, and none waits for another.
//!
//! ```text
//! the index     has positions, so it tells by which of its values an entry is sorted; the requester may read every entry and all of these values
//! the part      no two of its entries have one prefix; it ends before the first two that have
//! its entries   in the order in which the cursor brings them
//! keys          of the first entry of a later page, which may be the last of the page before; and of the last entry of a page, for its cookie
//! ```
//! Where one of this is not so, the part is gathered and sorted by whole keys.

use super::super::page::COOKIE_KEY_BYTES_MAX;
use super::super::query::Query;
use super::super::running::{Rest, Running};
use super::Sorting;
use crate::access::ViewId;
use crate::engine::Dsa;
use crate::monitor::Counters;
use crate::worker::Scratch;
use env::clock::Now;
use model::ResultCode;
use model::limits::OUT_BYTES_SOFT_MAX;
use store::EntryRef;

impl Sorting {
    /// Returns entries of the part as the cursor finds them, to its end.
    /// An entry that has to wait for the next slice is pending: the cursor would not bring it again.
    #[expect(clippy::too_many_arguments, reason = "what a slice has, borrowed from its owners")]
    pub(super) fn pass(
        &mut self,
        running: &mut Running,
        (dsa, now): (&Dsa, Now),
        scratch: &mut Scratch,
        query: &Query<'_>,
        counters: &Counters,
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Rest {
        while *work > 0 && out.len() < OUT_BYTES_SOFT_MAX {
            let (entry, view) = match self.next(running, scratch, query, work) {
                Ok(found) => found,
                Err(rest) => return rest,
            };
            let taken = match self.is_behind_page((&entry, view), running, scratch, query, work) {
                Some(false) => continue,
                Some(true) => self.take(running, scratch, query, (&entry, view), work),
                None => Err(Rest::Pause),
            };
            let view = match taken {
                Ok(view) => view,
                Err(rest) => {
                    self.pending = Some((entry.id, query.who.class));
                    return rest;
                }
            };
            let rest = running.put_entry((dsa, now), scratch, query, counters, (&entry, view), work, out);
            if let Some(rest) = rest {
                return rest;
            }
        }
        Rest::Pause
    }

    /// Is an entry behind the last one of the page before? Only of the first that is found it is asked: the others have greater prefixes.
    /// `None` if its key is not ready.
    #[inline]
    fn is_behind_page(
        &mut self,
        (entry, view): (&EntryRef<'_>, ViewId),
        running: &Running,
        scratch: &mut Scratch,
        query: &Query<'_>,
        work: &mut u64,
    ) -> Option<bool> {
        let Some(walk) = self.walk.as_mut().filter(|walk| walk.resumes) else { return Some(true) };
        let key = self.maker.key(query, scratch, (entry, view), work)?;
        walk.resumes = false;
        Some(running.page.as_ref().is_none_or(|page| (&key, Some(entry.id)) > (&page.at.key, page.at.last)))
    }

    /// Counts an entry that is returned now, in limit and page, and puts together what it is written with. Returns the view that it is written by.
    ///
    /// # Errors
    /// Why the slice ends before it. It comes again, if the search goes on.
    pub(super) fn take(
        &mut self,
        running: &mut Running,
        scratch: &mut Scratch,
        query: &Query<'_>,
        (entry, view): (&EntryRef<'_>, ViewId),
        work: &mut u64,
    ) -> Result<ViewId, Rest> {
        let view = running.prepare_contents(scratch, query, (entry, view), work)?;
        // As of any search: what is over the limit is known with the first entry that is too much.
        if running.left == 0 {
            return Err(Rest::End(ResultCode::SizeLimitExceeded));
        }
        if let Some(page) = &mut running.page {
            if page.left == 0 {
                return Err(Rest::PageFull);
            }
            // Of the last one the cookie has the key, so that the next page goes on behind it, whatever was added or deleted before it.
            let mut last = Vec::new();
            if page.left == 1 && self.view.is_none() {
                match self.maker.key(query, scratch, (entry, view), work) {
                    Some(key) if key.len() <= COOKIE_KEY_BYTES_MAX => last = key,
                    Some(_) => {}
                    None => return Err(Rest::Pause),
                }
            }
            page.take_sorted(entry.id, last);
        }
        // Only now: above, the same entry may have come several times.
        running.left -= 1;
        self.has_returned = true;
        Ok(view)
    }
}
