//! What the requests of a bundle need before they run: which need a barrier, and which reads may wait with updates of their bundle.

use super::group::{self, Pending};
use super::transaction;
use crate::engine::Dsa;
use crate::faults;
use crate::op::password_values::{is_password, may_concern};
use crate::session::Session;
use env::planted;
use proto::control::{Controls, non_transaction, proxied_authorization, transaction_specification};
use proto::ext::cancel;
use proto::message::{Message, Request};
use proto::outline::Outline;
use proto::tag;

/// Longer reads wait for the updates before them to be answered, and are run like any other.
const READ_BYTES_MAX: usize = 16 << 10;

/// Does a request look at the directory before it is logged? Updates of the root DN do not, if they are nothing but updates, of no
/// transaction, and of nothing that is logged in another form than it was sent: whether another may make one is found out by entries, of groups and
/// of the requester, and what becomes of a password by policies.
pub(super) fn needs_barrier(
    session: &Session,
    dsa: &Dsa,
    message: &[u8],
    outline: Option<&Outline<'_>>,
) -> bool {
    if let Some(outline) = outline {
        match outline.op_tag {
            op_tag if is_update(op_tag) => {
                return !session.identity.is_root
                    || !outline.after.is_empty()
                    || transaction::implies(session, dsa)
                    || group::may_be_own(outline.dn)
                    // A hash is taken as it comes where there is no policy. There may be one that this server does not know of yet.
                    || may_concern(dsa.shard.schema(), false, outline);
            }
            tag::UNBIND | tag::ABANDON => return false,
            _ => {}
        }
    }
    // What cannot be read is refused, whatever the directory has.
    match group::decode(message) {
        Ok(Message { request: Request::Unbind | Request::Abandon(_), .. }) | Err(_) => false,
        Ok(Message { request: Request::Extended(extended), .. }) if extended.oid == cancel::OID => false,
        Ok(_) => !(planted::is(faults::OWN_WRITE_NOT_SEEN_AT_FOLLOWER) && session.reply.is_some()),
    }
}

/// Is it one of the four requests that change entries, and that go to the log as they came?
pub(super) fn is_update(op_tag: u8) -> bool {
    matches!(op_tag, tag::ADD | tag::DELETE | tag::MODIFY | tag::MODIFY_DN)
}

/// Controls that name a transaction, or ask for another identity, look at the session as it is when the read runs: by then it may have
/// another one. The server's own entries are not part of the directory whose states are pinned.
pub(super) fn may_wait(session: &Session, dsa: &Dsa, read: &Pending<'_>) -> bool {
    const OIDS: [&[u8]; 3] =
        [transaction_specification::OID, non_transaction::OID, proxied_authorization::OID];
    matches!(read.op_tag(), Some(tag::SEARCH | tag::COMPARE))
        && !read.is_about_server()
        && read.frame().len() <= READ_BYTES_MAX
        && session.batch.acting.is_none()
        && session.transactions.is_empty()
        && (!read.has_controls()
            || Controls::of(read.frame()).iter().all(|control| !OIDS.contains(&control.oid)))
        && (read.again.is_some() || is_plain(dsa, read))
}

/// Can a read be decoded, and verifies no password? What ends the session must end it before the updates that follow. A verification has the
/// session wait by itself.
fn is_plain(dsa: &Dsa, read: &Pending<'_>) -> bool {
    match read.decode() {
        Ok(message) => match &message.request {
            // It may be one that another server answers.
            Request::Compare(_) | Request::Search(_) if dsa.chains() => false,
            Request::Compare(compare) => !is_password(dsa.shard.schema(), compare.assertion.attribute),
            _ => true,
        },
        Err(_) => false,
    }
}

/// May an update go to the log together with those before it, though reads stand between them?
/// No if the read's answer could differ from what it would have been between the two: see [`may_follow_reads`].
#[inline]
pub(super) fn may_follow(session: &mut Session, dsa: &Dsa, update: &Pending<'_>) -> bool {
    session.mixed.marks.is_empty() || may_follow_reads(session, dsa, update)
}

fn may_follow_reads(session: &mut Session, dsa: &Dsa, update: &Pending<'_>) -> bool {
    // numSubordinates and the like are the writer's counts, not those of a read point: an add or a delete behind the read would show in it.
    let changes_counts = matches!(update.op_tag(), Some(tag::ADD | tag::DELETE | tag::MODIFY_DN));
    !(changes_counts && session.mixed.asks_for_counts()) && session.mixed.marks.hold(&dsa.shard)
}
