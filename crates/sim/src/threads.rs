//! A server with all its threads on a disk whose operations are recorded, and clients that load it.
//!
//! Each client counts its bundles in an entry of its own: `17 4 9` says that it is its 17th, and that clients 0 and 1 had
//! been answered by then for their 4th and 9th. What is recovered later must hold them, whatever the power left.

use crate::node::recover;
use crate::recorder::{Event, Recorder};
use crate::requests::{Bundle, COUNTER, SUFFIX, Sent, counter_dn};
use crate::workloads;
use dsa::{Dsa, Session, State, Worker};
use env::clock::{Clock as _, SystemClock};
use env::disk::RealDisk;
use env::task;
use model::ResultCode;
use node::commit::Thread;
use proto::Reply;
use proto::message::{Frame, frame};
use proto::op::ModifyKind;
use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Clients at the same time.
pub const CLIENTS: usize = 3;
/// Bundles of each.
const BUNDLES: u64 = 60;
/// Bytes of log after which a snapshot is made: some are, during the run.
const SNAPSHOT_AFTER: u64 = 100_000;

/// The log's settings: small files, so that many are used.
pub fn log() -> wal::Settings {
    wal::Settings {
        file_bytes: 64 << 10,
        waiting_bytes_max: 16 << 10,
        ready_files: 2,
        spare_files_max: 2,
        ..wal::Settings::default()
    }
}

/// Runs a server on `dir`, which is new, under the load of all clients, and ends it well.
///
/// # Errors
/// When the server cannot be started or its log fails.
pub fn run(recorder: &Recorder, dir: &Path) -> Result<(), String> {
    let recovered = recover(recorder.over(Arc::new(RealDisk)), dir, log(), Some(SNAPSHOT_AFTER), 1);
    let (_data, recovered) = recovered.map_err(|error| error.to_string())?;
    let (dsa, clock) = (recovered.dsa, SystemClock::start());
    let thread = Thread::start(recovered.committer, recovered.snapshots, clock, None, |_| ());
    let thread = thread.map_err(|error| error.to_string())?;
    let mut base = Bundle::default();
    workloads::base(CLIENTS, &mut base);
    let mut first = Client::connect(&dsa);
    first.send(&base.bytes)?;
    let acknowledged: [AtomicU64; CLIENTS] = Default::default();
    let failed = std::sync::Mutex::new(None);
    let client = |number: usize| {
        if let Err(error) = Client::connect(&dsa).load(number, recorder, &acknowledged) {
            failed.lock().expect("nobody panics with it").get_or_insert(error);
        }
    };
    task::run_with_workers(CLIENTS, client, || ());
    drop(first);
    thread.stop().map_err(|error| error.to_string())?;
    failed.into_inner().expect("nobody panics with it").map_or(Ok(()), Err)
}

/// A client on a thread of its own.
struct Client {
    worker: Worker,
    session: Session,
}

impl Client {
    fn connect(dsa: &Arc<Dsa>) -> Client {
        let mut worker = Worker::new(dsa).expect("there are few readers");
        let session = Session::new(&mut worker);
        let mut client = Client { worker, session };
        let mut bind = Bundle::default();
        bind.bind();
        client.send(&bind.bytes).expect("nothing of it is logged");
        client
    }

    fn load(
        mut self,
        number: usize,
        recorder: &Recorder,
        acknowledged: &[AtomicU64; CLIENTS],
    ) -> Result<(), String> {
        for count in 1..=BUNDLES {
            let mut bundle = Bundle::default();
            let filler = "x".repeat(500 + (count as usize * 97 + number * 31) % 1500);
            bundle.modify(SUFFIX, ModifyKind::Replace, "description", &[&filler], Sent::Other);
            let mut text = count.to_string();
            for other in acknowledged {
                text += &format!(" {}", other.load(Ordering::SeqCst));
            }
            bundle.modify(&counter_dn(number), ModifyKind::Replace, COUNTER, &[&text], Sent::Other);
            recorder.note(Event::Sent(number, count));
            self.send(&bundle.bytes)?;
            recorder.note(Event::Acknowledged(number, count));
            acknowledged[number].store(count, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Sends requests and waits for all answers.
    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut answers = Vec::new();
        self.worker.tick(SystemClock::start().now());
        let feed = self.session.feed(&mut self.worker, bytes, &mut answers);
        assert_eq!(feed.consumed, bytes.len(), "updates alone are taken at once");
        if feed.state == State::Waiting {
            let Client { worker, session } = self;
            let waited = task::block_on(poll_fn(|cx| session.poll_updates(worker, cx, &mut answers)));
            waited.map_err(|error| error.to_string())?;
        }
        let mut rest = &answers[..];
        while let Ok(Frame::Complete { len }) = frame(rest) {
            let reply = Reply::decode(&rest[..len]).map_err(|error| format!("{error:?}"))?;
            match reply.result().and_then(|result| result.result_code()) {
                Some(ResultCode::Success) => {}
                other => return Err(format!("an update was answered {other:?}")),
            }
            rest = &rest[len..];
        }
        Ok(())
    }
}
