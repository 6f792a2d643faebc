//! Where a sorted search reads an index, and where in its list it begins.

use super::super::query::Query;
use super::super::running::{Rest, Running, TooMuch};
use super::super::virtual_list_view::{ListTarget, ListView, by_offset, failure, response};
use super::Sorting;
use super::order::Order;
use super::stage::Stage;
use super::walk::Part;
use super::window::Read;
use model::ResultCode;
use std::sync::Arc;

impl Sorting {
    /// Reads on in the index.
    ///
    /// # Errors
    /// Why the search does not come further by it.
    pub(super) fn read(
        &mut self,
        running: &mut Running,
        query: &Query<'_>,
        work: &mut u64,
    ) -> Result<Stage, TooMuch> {
        if let Some(window) = &mut self.window {
            return Ok(match window.read(query, running, work) {
                Read::Done => Stage::Gather(Order::default()),
                Read::Later => Stage::Read,
                Read::TooMuch => self.gather_all(running),
            });
        }
        let walk = self.walk.as_mut().expect("what an index has is read by a walk");
        match walk.read(query, running, !self.has_returned, work) {
            Part::InOrder => Ok(Stage::Pass),
            Part::Read => Ok(Stage::Gather(Order::default())),
            Part::Later => Ok(Stage::Read),
            Part::TooMuch(_) if !self.has_returned => Ok(self.gather_all(running)),
            Part::TooMuch(why) => Err(why),
        }
    }

    /// Finds all of its entries without the index. None was returned so far.
    #[cold]
    pub(super) fn gather_all(&mut self, running: &mut Running) -> Stage {
        self.walk.take().iter_mut().for_each(|walk| walk.restore(running));
        self.window.take().iter_mut().for_each(|window| window.restore(running));
        running.begin_again();
        // The cursor brings it again.
        (self.pending, self.spare) = (None, None);
        Stage::Gather(Order::default())
    }

    /// Finds out where in the list to begin, or what to look for.
    pub(super) fn place(&mut self, ids: Arc<Vec<u32>>, running: &mut Running) -> Result<Stage, Rest> {
        let gathered = ids.len();
        let len = self.window.as_ref().map_or(gathered, |window| window.len());
        // RFC 2696: a page goes on where the one before has ended.
        let resumed = running.page.as_ref().map(|page| &page.at).filter(|at| at.returned > 0);
        // A part that is not the first is behind it.
        let resumed = resumed.filter(|_| self.walk.as_ref().is_none_or(|walk| walk.resumes));
        match &self.view {
            Some(ListView { target: ListTarget::ByOffset(offset, count), .. }) => {
                match by_offset((*offset, *count), len) {
                    Ok(_) if len == 0 => {
                        self.view_response = Some(response(0, 0, false));
                        Ok(Stage::Return(ids, 0, 0))
                    }
                    Ok(target) => Ok(self.part(ids, target, running)),
                    Err(result) => {
                        self.view_response = Some(failure(result));
                        self.text = "the offset is none of the list".into();
                        Err(Rest::End(ResultCode::VirtualListViewError))
                    }
                }
            }
            Some(_) => Ok(Stage::Find(ids, 0, gathered)),
            None => Ok(match resumed {
                None => Stage::Return(ids, 0, len),
                Some(at) if at.key.is_empty() => Stage::Return(ids, len.min(at.returned as usize), len),
                Some(_) => Stage::Find(ids, 0, len),
            }),
        }
    }

    /// The place was found.
    pub(super) fn found(&mut self, ids: Arc<Vec<u32>>, at: usize, running: &mut Running) -> Stage {
        let len = ids.len();
        let first = self.window.as_ref().map_or(0, |window| window.first());
        // Without a view it is where a page goes on, and the list goes on to its end.
        match self.view {
            Some(_) => self.part(ids, first + at, running),
            None => Stage::Return(ids, at, len),
        }
    }

    /// The part of the list around a target. The pages of a part go on by number: it is the part of that list as it is by then.
    fn part(&mut self, ids: Arc<Vec<u32>>, target: usize, running: &mut Running) -> Stage {
        let Some(view) = &self.view else { return Stage::Return(ids, 0, 0) };
        let whole = (0, ids.len());
        let (first, len) = self.window.as_ref().map_or(whole, |window| (window.first(), window.len()));
        // What is cut off at an end of the list is not made up for at the other.
        let target = target.min(len);
        let part = view.part(target, len);
        if self.window.as_ref().is_some_and(|window| !window.holds(&part)) {
            return self.gather_all(running);
        }
        let is_by_value = matches!(view.target, ListTarget::AtLeast(_));
        self.view_response = Some(response(target, len, is_by_value));
        let returned = running.page.as_ref().map_or(0, |page| page.at.returned as usize);
        let begin = part.end.min(part.start + returned);
        // By their places in what was gathered, which is not all of the list.
        let [begin, end] = [begin, part.end].map(|at| at.saturating_sub(first).min(ids.len()));
        Stage::Return(ids, begin, end)
    }
}
