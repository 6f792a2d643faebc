//! First stage: what an update is. It is decoded here, with its controls, once for all stages before the log.

use super::super::group::{decode, may_be_own};
use super::Refused;
use crate::control::{self, ControlError, Requested};
use crate::engine::Dsa;
use crate::extension::{Bound, Role, Writes};
use crate::op::{extended, own_password};
use proto::DecodeError;
use proto::message::{self, Message};
use self_cell::self_cell;

/// An update that was decoded.
pub(in crate::bundle) struct Request<'a> {
    pub(in crate::bundle) message: Message<'a>,
    /// Its controls, or why they cannot be honoured.
    controls: Result<Requested<'a>, ControlError<'a>>,
    pub(in crate::bundle) kind: Kind<'a>,
    /// The whole message.
    pub(in crate::bundle) frame: &'a [u8],
}

impl<'a> Request<'a> {
    /// Its controls.
    ///
    /// # Errors
    /// If they cannot be honoured.
    pub(in crate::bundle) fn requested(&self) -> Result<&Requested<'a>, Refused<'a>> {
        self.controls.as_ref().map_err(|error| Refused::Control(*error))
    }
}

/// What kind of update it is.
#[derive(Clone, Copy)]
pub(in crate::bundle) enum Kind<'a> {
    /// The begin or the end of a transaction.
    Bound(Bound),
    /// An extended operation that changes an entry, with its value.
    Extended(&'static Writes, Option<&'a [u8]>),
    /// A modify that changes passwords and nothing else, and gives a new one: perhaps a user's change of its own.
    OwnPassword,
    /// Of the server's configuration.
    Config,
    /// A modify of the subschema.
    Schema,
    /// The same in the form of OpenLDAP: an add or a modify of an entry with definitions.
    SchemaConfig,
    /// Of an entry.
    Entry,
}

/// An update that was looked at.
pub(in crate::bundle) struct Classified<'a> {
    /// The whole message.
    pub(in crate::bundle) frame: &'a [u8],
    /// What it asks for, or why it is malformed.
    pub(in crate::bundle) request: Result<Request<'a>, DecodeError>,
}

self_cell! {
    /// An update that waits for those before it, decoded, with its message.
    pub(crate) struct Suspended {
        owner: Vec<u8>,
        #[covariant]
        dependent: Classified,
    }
}

impl std::fmt::Debug for Suspended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Suspended({} bytes)", self.borrow_owner().len())
    }
}

impl Suspended {
    /// Decodes an update from a copy of its message, which outlives the input.
    pub(super) fn classify(dsa: &Dsa, frame: &[u8]) -> Suspended {
        Suspended::new(frame.to_vec(), |frame| classify(dsa, frame))
    }
}

/// Decodes an update.
pub(in crate::bundle) fn classify<'a>(dsa: &Dsa, frame: &'a [u8]) -> Classified<'a> {
    #[cfg(test)]
    tests::CLASSIFIED.with(|classified| classified.set(classified.get() + 1));
    Classified { frame, request: decode(frame).map(|message| request(dsa, message, frame)) }
}

/// What a message asks for, before anything of it is judged.
fn request<'a>(dsa: &Dsa, message: Message<'a>, frame: &'a [u8]) -> Request<'a> {
    let controls = control::check_sessions(message.controls)
        .and_then(|()| control::requested(&message.request, message.controls, dsa.behaviour()));
    let kind = match &message.request {
        message::Request::Extended(extended) => match extended::find(extended.oid).map(|known| &known.role) {
            Some(Role::Writes(writes)) => Kind::Extended(writes, extended.value),
            Some(Role::Bounds(bound)) => Kind::Bound(*bound),
            Some(Role::Reads(_) | Role::Secures(_) | Role::Cancels) | None => unreachable!("it is no update"),
        },
        request if is_config(dsa, request) => match request {
            message::Request::Add(proto::op::Add { dn, .. })
            | message::Request::Modify(proto::op::Modify { dn, .. })
                if dsa.system.is_of_schema_config(dn) =>
            {
                Kind::SchemaConfig
            }
            _ => Kind::Config,
        },
        message::Request::Modify(modify) if is_schema(dsa, modify.dn) => Kind::Schema,
        message::Request::Modify(_) if own_password::asked(dsa.shard.schema(), &message).is_some() => {
            Kind::OwnPassword
        }
        _ => Kind::Entry,
    };
    Request { message, controls, kind, frame }
}

/// Does an update change the configuration, and no entry of the directory that happens to be called so?
fn is_config(dsa: &Dsa, request: &message::Request<'_>) -> bool {
    let dn = match request {
        message::Request::Add(add) => add.dn,
        request => control::update::target(request).unwrap_or_default(),
    };
    may_be_own(dn) && !dsa.shard.holds(dn) && dsa.system.is_below_config(dn)
}

/// Is this the name of the subschema, and of no entry of the directory that happens to be called so?
fn is_schema(dsa: &Dsa, dn: &[u8]) -> bool {
    may_be_own(dn) && !dsa.shard.holds(dn) && dsa.system.is_subschema(dn)
}

#[cfg(test)]
mod tests {
    use crate::journal::{Journal, Metrics, Updates};
    use crate::system::tests::Fixture;
    use crate::worker::Worker;
    use crate::{Session, State};
    use model::ResultCode;
    use proto::control::{Control, read_entry};
    use proto::message::Request;
    use std::cell::Cell;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll, Waker};

    thread_local! {
        /// How many updates this thread has decoded before the log.
        pub(super) static CLASSIFIED: Cell<usize> = const { Cell::new(0) };
    }

    /// A log that keeps what comes.
    #[derive(Default)]
    struct Kept(Mutex<Vec<Updates>>);

    impl Journal for Kept {
        fn submit(&self, updates: Updates) {
            self.0.lock().unwrap().push(updates);
        }

        fn times_wait(&self) {}

        fn metrics(&self) -> Metrics {
            Metrics::default()
        }
    }

    impl Kept {
        /// Refuses what came, and says how many batches that were.
        fn refuse(&self) -> usize {
            let submitted = std::mem::take(&mut *self.0.lock().unwrap());
            let count = submitted.len();
            submitted.into_iter().for_each(|updates| updates.refuse(ResultCode::Unavailable, "not today"));
            count
        }
    }

    /// A delete of an entry that is not there.
    fn delete(id: i32, controls: &[Control<'_>], bytes: &mut Vec<u8>) {
        Request::Delete(b"cn=nobody,dc=com").encode(bytes, id, controls);
    }

    fn wait(session: &mut Session, worker: &mut Worker, out: &mut Vec<u8>) -> State {
        match session.poll_updates(worker, &mut Context::from_waker(Waker::noop()), out) {
            Poll::Ready(state) => state,
            Poll::Pending => panic!("it was answered"),
        }
    }

    #[test]
    fn an_update_that_waits_for_those_before_it_is_decoded_once() {
        let mut fixture = Fixture::new();
        let log = Arc::new(Kept::default());
        fixture.worker.dsa.journal_to(Arc::clone(&log) as Arc<dyn Journal>);
        let mut session = Session::new(&mut fixture.worker);
        session.identity = fixture.identity.clone();
        // A control that is malformed is refused at once, which must not come before the answer to the first update.
        let malformed =
            Control { oid: read_entry::PRE_OID, critical: true, value: Some(b"no selection".as_slice()) };
        let (mut input, mut out) = (Vec::new(), Vec::new());
        delete(1, &[], &mut input);
        delete(2, &[malformed], &mut input);
        delete(3, &[], &mut input);
        // Deletes of no controls need no decoding, but where there are no fast paths.
        let plain = usize::from(!env::fast::IS_ON);
        CLASSIFIED.set(0);
        let feed = session.feed(&mut fixture.worker, &input, &mut out);
        assert_eq!((feed.state, out.len(), CLASSIFIED.get()), (State::Waiting, 0, plain + 1));
        assert!(session.suspended.is_some());
        assert_eq!(log.refuse(), 1);
        assert_eq!(wait(&mut session, &mut fixture.worker, &mut out), State::Busy);
        assert_eq!(session.step(&mut fixture.worker, &mut out), State::Idle);
        assert!(session.suspended.is_none());
        assert_eq!(CLASSIFIED.get(), plain + 1, "it was answered without being decoded anew");
        let feed = session.feed(&mut fixture.worker, &input[feed.consumed..], &mut out);
        assert_eq!((feed.state, log.refuse(), CLASSIFIED.get()), (State::Waiting, 1, 2 * plain + 1));
    }
}
