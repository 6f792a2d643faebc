//! Groups whose members are what searches find: the values of `memberURL` of an entry of class groupOfURLs.
//!
//! A URL names a search of this directory; one with a host is never followed. Upwards, each such group is asked whether its search finds the
//! entry; downwards, the search is a part of the filter that asks for the members.
//!
//! A group may list members as well. These are looked for by the index, as those of any group; here only its URLs count. What one of its searches
//! finds is a member and no group in the group, whatever it is: else each search would have to be run to know which groups are in a group.
//!
//! Filters of URLs that ask for memberOf find nobody: they are made ready without what finds members, so no URL leads to another one.
//!
//! All of it is with the rights of the requester: a search finds what it would find by itself, so a URL that leads to entries or attributes that
//! may not be read gives nothing. Besides it must be allowed to know the values of `member` of the group.

use super::{Judge, LOOKED_MAX, Memberships};
use crate::access::class::Action;
use crate::access::member_urls::{UrlSearch, scope, urls};
use crate::access::views::ViewId;
use crate::access::views::on_values::{Tester, ValueJudge};
use ::access::Name;
use ::access::group::MemberUrl;
use model::Description;
use store::EntryRef;
use store::search::evaluate::Truth;
use store::search::work::COMPILED_ITEM;
use store::search::{Compiled, Paused};

/// Groups of this kind. With more of them none is asked whether it has an entry.
const DYNAMIC_MAX: usize = 256;

impl<'a> Memberships<'_, 'a> {
    /// The searches of a group of which the requester may know.
    /// A base that is not there is left out: no entry lies below it.
    pub(super) fn searches(&mut self, group: &EntryRef<'a>) -> Vec<UrlSearch> {
        let (read_point, member) = (self.read_point, self.member());
        if !self.terms().has_urls(group) {
            return Vec::new();
        }
        let Some(view) = self.view(group) else { return Vec::new() };
        let may = match self.judge(view, member) {
            Judge::None => return Vec::new(),
            Judge::All => None,
            Judge::Some(may) => Some(may),
        };
        let searches = urls(group, read_point).into_iter().filter_map(|url| {
            let base = read_point.resolve(&url.dn, &mut self.evaluator.cache).ok()?;
            Some(UrlSearch { base, scope: scope(&url), url, may: may.clone() })
        });
        searches.collect()
    }

    /// The groups whose searches find an entry. Without an index on the presence of `memberURL` all entries are looked at, if `without_index`
    /// says so and they are few. `None` if neither is possible.
    pub(super) fn finding(&mut self, dn: &[u8], without_index: bool) -> Option<Vec<EntryRef<'a>>> {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        let member_url = self.terms().member_url()?;
        let most = if without_index { LOOKED_MAX } else { 0 };
        let groups = read_point.may_have_attribute(member_url, DYNAMIC_MAX, most)?;
        let entry = read_point.resolve(dn, &mut self.evaluator.cache).ok();
        let (entry, name) = (entry.and_then(|id| read_point.entry(id)), std::str::from_utf8(dn).ok());
        let name = name.and_then(|dn| Name::parse(schema, dn.as_bytes()));
        let (Some(entry), Some(name)) = (entry, name) else { return Some(Vec::new()) };
        // Each is asked in turn. Their URLs are read anew: what was read before may be of another version of the group.
        let (mut kinds, terms, mut found) = (self.kinds(), self.terms(), Vec::new());
        let mut groups_left = groups.len() as u64;
        for group in groups {
            let share = self.work / groups_left;
            groups_left -= 1;
            let Some(group) = read_point.entry(group) else { continue };
            if !terms.has_urls(&group) || !kinds.is_group(&group) {
                continue;
            }
            let (view, member) = (self.view(&group), self.member());
            if view.is_some_and(|view| self.may_know(view, member, dn)) {
                let mut work = share;
                if urls(&group, read_point).iter().any(|url| self.finds(url, &name, &entry, &mut work)) {
                    found.push(group);
                }
                self.work -= share - work;
            }
        }
        Some(found)
    }

    /// Does a search find an entry, for the requester?
    /// Its place is compared by normal forms of names, which takes no look at the base: that may be hidden, or gone. The filter is restricted to what
    /// the requester may test on this entry, as that of a search is, so an attribute that is hidden there makes no member of it.
    fn finds(&mut self, url: &MemberUrl, name: &Name, entry: &EntryRef<'_>, work: &mut u64) -> bool {
        let read_point = self.read_point;
        // Most entries are decided by this.
        if !name.is_within(url.reach, &url.base) {
            return false;
        }
        let filter = url.filter.filter();
        *work = work.saturating_sub(u64::from(filter.items()) * COMPILED_ITEM);
        let all = Compiled::new(&filter, read_point.shard(), &|_| true);
        let action = Action::of(self.operation);
        let view = self.views.of(self.who, action, entry, read_point, self.evaluator);
        let (filter, judge) = match view {
            ViewId::ROOT => (all, ValueJudge::default()),
            view => {
                let tester = Tester { views: &mut *self.views, who: self.who, view, right: self.right };
                ValueJudge::restrict(&all, entry.shape, tester, read_point, &mut self.evaluator.cache)
            }
        };
        // An entry may have a million values, and nothing can wait here.
        let mut paused = Paused::default();
        let truth = judge.go_on(self.evaluator, &filter, (entry, read_point), &mut paused, work);
        truth == Some(Truth::True)
    }

    /// The attribute whose values the members of a group are. Rules about it decide who knows of members, however these are found.
    fn member(&self) -> Description {
        Description::plain(self.read_point.shard().schema().well_known().member)
    }
}
