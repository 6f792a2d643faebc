//! Searches that follow changes: content synchronisation (RFC 4533) and persistent search (ldapext-psearch-03).
//!
//! ```text
//! refresh    a search as any other, that keeps the ids of what it finds, the content, and says less of what the client has
//! parked     no read point, no work: an event of the stream wakes it
//! batch      the entries that events name are looked at as a search looks at candidates, at a read point of that moment
//! ```
//! Whether an entry *is* in the content is decided like that of any search, by base, scope, filter and rights. Whether it *was* is what the
//! client was sent. So there is nothing before a change to be looked at, and nothing is said of an entry that the client was never sent:
//! also not that it has gone.
//!
//! An event names an entry; what the entry is by then is looked up. So of several changes between two batches the client sees the last state
//! only, and an entry that came and went meanwhile is not mentioned. The events of a batch are those that its read point shows and the one of the
//! batch before did not: what the client knows is the state there.
//!
//! ```text
//! in the content before   now    said
//! no                      yes    add
//! yes                     yes    modify, if the entry itself was changed and not only one above it
//! yes                     no     its entryUUID, with those of all others that are gone
//! no                      no     nothing
//! ```
//! A rename of an entry may bring all below it into the scope, or take them out of it. So these are looked at as well, up to a bound
//! ([`super::batch`]).
//!
//! When the rules or the groups of the requester have changed, what is known of the content holds no more: the client is to begin anew.

use super::batch::{Batch, Lost};
use super::by_log::ByLog;
use super::cookie::Cookie;
use super::renames::{NORMALISED_NAME, Name, Rename};
use crate::access::{ClassId, ViewId};
use crate::change_log::ChangeLog;
use crate::engine::Dsa;
use crate::faults::holes;
use crate::worker::Scratch;
use ::access::Right;
use env::net::PeerAddress;
use env::planted;
use model::limits::OUT_BYTES_SOFT_MAX;
use model::{Csn, Description, EntryId, ResultCode, Scope};
use proto::control::content_sync::{self, SyncInfo, SyncState};
use proto::control::persistent_search::{self, ChangeType, PersistentSearch};
use proto::list::Attributes;
use proto::op::SearchEntry;
use proto::result::encode_result;
use proto::tag;
use roaring::RoaringBitmap;
use store::search::Compiled;
use store::stream::{EntryChangeKind, Reached};
use store::{EntryRef, Follower, ReadPoint, Shard};

/// UUIDs of one message of unchanged entries: some kilobytes, as an entry has.
/// Those that are gone are in one message, for its cookie is true of all of them.
const UUIDS_MAX: usize = 256;

/// How changes are reported.
pub(super) enum Form {
    /// By content synchronisation. `rid` is the number that the client has given itself, `key` what tells this search, its requester and the
    /// rules of now from others.
    Sync { persists: bool, rid: u16, key: u64 },
    /// By persistent search.
    Changes(PersistentSearch),
}

/// What a search does that follows changes.
/// It goes from the first to the last, and then round the last three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It looks for the content, as any search.
    Refresh,
    /// Events are taken, and what lies below renamed entries is looked for.
    Gather,
    /// Entries of events are looked at. The state that is reached then.
    Batch(Reached),
    /// It waits for an event.
    Parked,
}

/// What comes behind the last candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There is more to say at this read point.
    More,
    /// It waits for an event.
    Park,
    /// The last message was written.
    End,
}

/// What an entry comes with that is sent.
pub(super) enum Notice {
    /// Its state (RFC 4533 section 2.2).
    State(SyncState, [u8; 16]),
    /// What became of it: the value of an entry change notification.
    Change(Vec<u8>),
}

/// What a search keeps to follow changes.
/// It owns all of it, and borrows from no read point: it lasts for hours, and old versions must not.
pub(super) struct Following {
    pub(super) form: Form,
    pub(super) stage: Stage,
    /// As compiled for the requester when it began: each batch has a cursor of its own with it.
    pub(super) filter: Compiled,
    pub(super) scope: Scope,
    /// None of a search that ends with its refresh.
    pub(super) follower: Option<Follower>,
    /// Ids of the entries that the client has. What is not here was never sent, so nothing is ever said of it.
    /// A bit or two bytes each: this is all the memory that grows.
    pub(super) content: RoaringBitmap,
    /// The state that the refresh brings.
    pub(super) reached: Reached,
    /// The state that the client has.
    pub(super) since: Option<Csn>,
    /// Does it have all that came before the first event? Then what is unchanged is not named.
    pub(super) has_all: bool,
    /// An entry above others, and whether it or one above it has changed since.
    pub(super) above: Option<(EntryId, bool)>,
    /// How it knows what is gone, if the entries that are unchanged need not be named.
    pub(super) by_log: Option<Box<ByLog>>,
    /// Of the entry that is to be sent.
    pub(super) notice: Option<Notice>,
    /// Of entries that are unchanged: to be said together.
    pub(super) uuids: Vec<[u8; 16]>,
    pub(super) batch: Batch,
    /// The name of the base.
    pub(super) base: Name,
    /// The base and all above it. If one of them gets another name, the base is another entry or none.
    pub(super) way: Vec<u32>,
    /// The name by which the base was found, if aliases on its way were followed: it may lead elsewhere later.
    pub(super) through: Option<Box<[u8]>>,
    /// The class of the requester when it began, and the epoch of its thread.
    pub(super) class: (ClassId, u64),
    /// The number of the schema when it began: its filter was made with that.
    pub(super) schema: u64,
    /// Do its rights hang on more than its class and the entry?
    pub(super) hangs_on_own: bool,
    /// The entry of the requester, if it has one: a change of it may change rights that hang on it.
    pub(super) own: Option<EntryId>,
    /// Where the client comes from: who holds back old versions is named by that.
    pub(super) peer: Option<PeerAddress>,
    /// Was anything said in this batch?
    pub(super) said: bool,
    /// The batch goes on at a later read point than the one that it was gathered for.
    pub(super) has_moved: bool,
}

impl Following {
    /// Does it bring content, and not only changes?
    pub(super) fn is_sync(&self) -> bool {
        matches!(self.form, Form::Sync { .. })
    }

    /// The cookie of a state; empty for a search that has none.
    /// Of a number of entries that is not known it says so, and is good for a refresh all the same.
    pub(super) fn cookie(&self, shard: &Shard, reached: Reached) -> Vec<u8> {
        let Form::Sync { rid, key, .. } = self.form else { return Vec::new() };
        let check = (check(shard, key, reached.csn.0), check(shard, key, reached.entries));
        Cookie { rid, csn: Some(reached.csn), check: Some(check) }.write()
    }

    /// Is an entry that is in the content to be sent? Keeps in mind that it is there.
    /// The cursor has found it, and the requester may read it: rights are judged before this and nowhere here, but for the entryUUID, which
    /// no other search sends without being asked for it.
    pub(super) fn takes(
        &mut self,
        (message_id, read_point): (i32, ReadPoint<'_>),
        view: ViewId,
        scratch: &mut Scratch,
        entry: &EntryRef<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        if let Form::Sync { .. } = self.form {
            // The client would learn it by the control.
            let schema = read_point.shard().schema();
            let uuid = Description::plain(schema.well_known().entry_uuid);
            if !scratch.views.on_attribute(view, uuid, schema).every.has(Right::Read) {
                return false;
            }
        }
        // Changed since the batch: its event comes with the next one.
        if self.behind().is_some_and(|csn| read_point.changed(entry) > csn) {
            return false;
        }
        let id = entry.id.0;
        let is_new = self.content.insert(id);
        match (&self.form, self.stage) {
            (Form::Sync { .. }, Stage::Refresh) => {
                if self.is_unchanged(read_point, entry) {
                    if !self.has_all && self.by_log.is_none() {
                        self.uuids.push(read_point.uuid(entry));
                        if self.uuids.len() == UUIDS_MAX {
                            self.say_unchanged(message_id, out);
                        }
                    }
                    return false;
                }
                let uuid = read_point.uuid(entry);
                self.by_log.iter_mut().for_each(|by_log| by_log.note_sent(uuid));
                self.notice = Some(Notice::State(SyncState::Add, uuid));
                true
            }
            (Form::Changes(changes), Stage::Refresh) => !changes.changes_only,
            (_, Stage::Gather | Stage::Parked) => unreachable!("there is no cursor in this stage"),
            (form, Stage::Batch(_)) => {
                self.batch.found.insert(id);
                let Some(changed) = self.batch.of(entry.id) else { return false };
                // An entry that is where it was under another name is none of the content's changes (RFC 4533 section 4.1).
                if !is_new && changed.is_none() {
                    return false;
                }
                match form {
                    Form::Sync { .. } => {
                        // An entryUUID that was given by a client comes back with the entry.
                        if is_new {
                            let uuid = read_point.uuid(entry);
                            self.batch.gone.remove(&uuid);
                        }
                        let state = if is_new { SyncState::Add } else { SyncState::Modify };
                        self.notice = Some(Notice::State(state, read_point.uuid(entry)));
                    }
                    Form::Changes(changes) => {
                        let change = match changed.as_ref().map(|changed| changed.kind) {
                            Some(EntryChangeKind::Add) => ChangeType::Add,
                            Some(EntryChangeKind::Rename) | None => ChangeType::ModDn,
                            Some(EntryChangeKind::Modify | EntryChangeKind::Delete) => ChangeType::Modify,
                        };
                        if !changes.wants(change) {
                            return false;
                        }
                        if changes.returns_notifications {
                            // Only to those who have seen it under that name.
                            let previous = changed.filter(|_| !is_new).and_then(|changed| changed.previous);
                            let value = persistent_search::notification_value(change, previous);
                            self.notice = Some(Notice::Change(value));
                        }
                    }
                }
                self.said = true;
                true
            }
        }
    }

    /// Has the entry that is written next come with what was noted of it. Not before: one that a limit cuts off is not written, and the next entry
    /// of the thread may be another client's.
    pub(super) fn bring(&mut self, scratch: &mut Scratch) {
        let (templates, ..) = scratch.writer(false);
        match self.notice.take() {
            None => {}
            Some(Notice::State(state, uuid)) => {
                let value = content_sync::state_value(state, &uuid);
                templates.bring(content_sync::state_control(&value));
            }
            Some(Notice::Change(value)) => templates.bring(persistent_search::notification(&value)),
        }
    }

    /// Has the client an entry as it is? Not if one above it, below the base, has changed: it may have come from elsewhere with that one.
    fn is_unchanged(&mut self, read_point: ReadPoint<'_>, entry: &EntryRef<'_>) -> bool {
        let Some(since) = self.since else { return false };
        read_point.changed(entry) <= since && !self.has_changed(read_point, entry.parent(), since)
    }

    /// Has an entry changed since, or one above it, below the base?
    /// The last answer is kept: entries come by id, and those of one superior mostly together.
    fn has_changed(&mut self, read_point: ReadPoint<'_>, above: EntryId, since: Csn) -> bool {
        if let Some((known, has_changed)) = self.above
            && known == above
        {
            return has_changed;
        }
        let mut next = above;
        let mut has_changed = false;
        while let Some(entry) = read_point.entry(next).filter(|_| !self.way.contains(&next.0))
            && !has_changed
        {
            has_changed = read_point.changed(&entry) > since;
            next = entry.parent();
        }
        self.above = Some((above, has_changed));
        has_changed
    }

    /// Of entries that the client has as they are.
    fn say_unchanged(&mut self, message_id: i32, out: &mut Vec<u8>) {
        if !self.uuids.is_empty() {
            SyncInfo::IdSet { deletes: false, cookie: None, uuids: &self.uuids }.encode(out, message_id);
            self.uuids.clear();
        }
    }

    /// Takes events up to a read point, and makes them the candidates of the batch, as far as work and room go. What was deleted is said at
    /// once. The candidates, when they are complete.
    ///
    /// # Errors
    /// When the content is not known any more.
    pub(super) fn gather(
        &mut self,
        (message_id, read_point): (i32, ReadPoint<'_>),
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Result<Option<RoaringBitmap>, Lost> {
        while self.batch.reached().is_none() {
            if *work == 0 || out.len() >= OUT_BYTES_SOFT_MAX {
                return Ok(None);
            }
            self.take_events((message_id, read_point), work, out)?;
        }
        let candidates = self.batch.candidates(read_point, work)?;
        if let Some(reached) = self.batch.reached().filter(|_| candidates.is_some()) {
            self.stage = Stage::Batch(reached);
        }
        Ok(candidates)
    }

    /// Takes the next events.
    fn take_events(
        &mut self,
        (message_id, read_point): (i32, ReadPoint<'_>),
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Lost> {
        let follower = self.follower.as_mut().expect("a search that is parked follows");
        let schema = read_point.shard().schema();
        let tells_names = matches!(self.form, Form::Changes(_));
        for event in self.batch.take(follower, read_point, work)? {
            let (id, kind) = (event.id, event.kind);
            if matches!(kind, EntryChangeKind::Rename | EntryChangeKind::Delete) && self.way.contains(&id.0) {
                return Err(Lost);
            }
            if self.hangs_on_own && self.own == Some(id) {
                return Err(Lost);
            }
            let before = event.before.as_deref();
            let rename = match before {
                Some(before) if kind == EntryChangeKind::Rename => {
                    let rename = Rename::of(before, schema, work).ok_or(Lost)?;
                    if !self.batch.note_rename(id, &rename, &self.base) {
                        continue;
                    }
                    Some(rename)
                }
                _ => None,
            };
            let known = before.filter(|_| self.content.contains(id.0) || planted::is(holes::SYNC_OF_HIDDEN));
            // The client knows the name that the entry had before the batch, and none that it had since.
            let name = match (known.filter(|_| tells_names), &rename) {
                (None, _) => None,
                (Some(_), Some(rename)) => Some(self.batch.name_before(&rename.from, work)),
                (Some(before), None) => {
                    *work = work.saturating_sub(NORMALISED_NAME);
                    let name = Name::of(&before.dn, schema).ok_or(Lost)?;
                    Some(self.batch.name_before(&name, work))
                }
            };
            if kind == EntryChangeKind::Delete {
                self.batch.forget(id);
                if let Some(before) = known {
                    self.say_deleted(message_id, (&before.uuid, name.as_deref()), out);
                }
                self.content.remove(id.0);
                continue;
            }
            self.batch.note(id, kind, name);
            if let Some(rename) = rename.filter(|_| tells_names) {
                self.batch.keep_rename(rename)?;
            }
        }
        Ok(())
    }

    /// Reports that an entry which the client has was deleted. The set of UUIDs waits for the end of the batch.
    fn say_deleted(&mut self, message_id: i32, (uuid, dn): (&[u8; 16], Option<&[u8]>), out: &mut Vec<u8>) {
        match self.form {
            Form::Sync { .. } => _ = self.batch.gone.insert(*uuid),
            Form::Changes(changes) if changes.wants(ChangeType::Delete) => {
                let dn = dn.unwrap_or_default();
                let value = persistent_search::notification_value(ChangeType::Delete, None);
                let control = changes.returns_notifications.then(|| persistent_search::notification(&value));
                SearchEntry { dn, attributes: Attributes::default() }.encode(
                    out,
                    message_id,
                    control.as_slice(),
                );
            }
            Form::Changes(_) => {}
        }
    }

    /// Ends a batch: what was in the content and was not found has left it.
    /// The state of the batch is named only if something was said: a client learns of no change that does not concern it.
    pub(super) fn end_batch(
        &mut self,
        (message_id, read_point): (i32, ReadPoint<'_>),
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Next {
        let behind = self.behind();
        if !self.batch.leave(&mut self.content, (read_point, behind), work) {
            return Next::More;
        }
        if let (Form::Sync { .. }, Stage::Batch(reached)) = (&self.form, self.stage)
            && (self.said || !self.batch.gone.is_empty())
        {
            let cookie = self.cookie(read_point.shard(), reached);
            let uuids: Vec<[u8; 16]> = std::mem::take(&mut self.batch.gone).into_iter().collect();
            // In one message, for it says which state is reached. slapd takes nothing away that has changed after that state, and forgets
            // the state of such a message: so that is said again.
            if !uuids.is_empty() {
                let cookie = Some(&cookie[..]);
                SyncInfo::IdSet { deletes: true, cookie, uuids: &uuids }.encode(out, message_id);
            }
            SyncInfo::NewCookie(&cookie).encode(out, message_id);
        }
        // What was large is given back: the search may wait for hours.
        self.batch = Batch::default();
        self.stage = Stage::Parked;
        self.has_moved = false;
        Next::Park
    }

    /// The batch goes on at a later read point than the one that it was gathered for: the last CSN that the latter shows.
    ///
    /// What was changed since then is not looked at: its events come with the next batch. All else is as it was, but for what was renamed above it
    /// or hidden from its client, which the next batch finds as it is by then. So what is said of this batch is true, and its cookie names a
    /// state from which a refresh brings what was left out.
    fn behind(&self) -> Option<Csn> {
        match self.stage {
            Stage::Batch(reached) if self.has_moved => Some(reached.csn),
            _ => None,
        }
    }

    /// May it give up its read point, since its client does not read? Not in a refresh: no event says what that has not seen.
    /// Nor while it looks for what lies below renamed entries.
    pub(super) fn may_move(&self) -> bool {
        match self.stage {
            Stage::Refresh => false,
            Stage::Gather => self.batch.reached().is_none(),
            // A persistent search reports each change once, by the name that the entry had then: what it passes over at a later read point nobody reports.
            Stage::Batch(_) => self.is_sync(),
            Stage::Parked => true,
        }
    }

    /// The client has a state of before, and its requester may read everything: goes by the change log if that reaches as far.
    pub(super) fn go_by_log(&mut self, log: &ChangeLog) {
        let since = self.since.filter(|_| !self.has_all);
        self.by_log = since.and_then(|since| ByLog::begin(log, since));
    }

    /// All of the content was sent that has changed: says what is gone. `false` if that is not known yet, but before long.
    ///
    /// # Errors
    /// When it is not known any more.
    pub(super) fn say_gone(
        &mut self,
        dsa: &Dsa,
        (message_id, read_point): (i32, ReadPoint<'_>),
        out: &mut Vec<u8>,
    ) -> Result<bool, Lost> {
        let (Some(since), Some(by_log)) = (self.since, &self.by_log) else { return Ok(true) };
        let Some(uuids) = by_log.gone(dsa, since, read_point)? else { return Ok(false) };
        if !uuids.is_empty() {
            // In one message, as at the end of a batch.
            let cookie = self.cookie(read_point.shard(), self.reached);
            SyncInfo::IdSet { deletes: true, cookie: Some(&cookie), uuids: &uuids }.encode(out, message_id);
        }
        Ok(true)
    }

    /// Bytes that it keeps for the client.
    pub(super) fn heap_bytes(&self) -> usize {
        self.filter.heap_bytes()
            + self.content.serialized_size()
            + self.batch.heap_bytes()
            + size_of_val(&self.uuids[..])
            + size_of_val(&self.way[..])
            + self.by_log.as_ref().map_or(0, |by_log| by_log.heap_bytes())
            + self.base.heap_bytes()
            + self.through.as_ref().map_or(0, |name| name.len())
    }

    /// Ends the refresh.
    /// In a present phase what was not named is gone. If the client has all, it is a delete phase in which nothing is gone (RFC 4533 section
    /// 3.9), since a present phase without names would take away everything. So it is if what is gone was said.
    pub(super) fn end_refresh(&mut self, message_id: i32, shard: &Shard, out: &mut Vec<u8>) -> Next {
        self.say_unchanged(message_id, out);
        let cookie = self.cookie(shard, self.reached);
        let deletes = self.has_all || self.by_log.take().is_some();
        match self.form {
            Form::Changes(_) => {}
            Form::Sync { persists: true, .. } => {
                SyncInfo::RefreshDone { deletes, cookie: &cookie }.encode(out, message_id);
            }
            Form::Sync { persists: false, .. } => {
                let value = content_sync::done_value(Some(&cookie), deletes);
                let control = content_sync::done_control(&value);
                encode_result(out, message_id, tag::SEARCH_DONE, ResultCode::Success, b"", "", &[control]);
                return Next::End;
            }
        }
        self.stage = Stage::Parked;
        Next::Park
    }
}

/// What ties a number to a search, so that no client makes one up, nor learns it.
pub(super) fn check(shard: &Shard, key: u64, number: u64) -> u64 {
    shard.keyed_hash(&[key, number].map(u64::to_be_bytes).concat())
}
