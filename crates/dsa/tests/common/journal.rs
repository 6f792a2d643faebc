//! A log that a test holds in its hands: what goes to it is applied when the test says so.

use super::*;
use dsa::journal::{Command, Journal, Metrics, OUTCOME_UNKNOWN, Updates};
use dsa::parcel::{Body, Head, Item, Parcel, push_times};
use dsa::{Applier, Waking};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Takes what comes and keeps it until it is asked for.
#[derive(Default)]
pub struct Fixture(Mutex<Vec<Updates>>, AtomicBool);

impl Fixture {
    /// Rejects what came in.
    pub fn refuse_all(&self) {
        for updates in self.0.lock().expect("nobody panicked").drain(..) {
            updates.refuse(ResultCode::Unavailable, "not today");
        }
    }

    /// Tells that the outcome of what came in is unknown, and applies it afterwards, as the log of another server would.
    pub fn apply_unknown(&self, applier: &mut Applier) {
        for updates in self.0.lock().expect("nobody panicked").drain(..) {
            let mut record = Vec::new();
            updates.command(START.wall_ms).encode(&mut record);
            updates.refuse(ResultCode::Unavailable, OUTCOME_UNKNOWN);
            let command = Command::decode(&record).expect("it was made by this program");
            applier.apply(&command, &mut Vec::new()).expect("it can be applied");
        }
    }
}

impl Journal for Fixture {
    fn submit(&self, updates: Updates) {
        self.0.lock().expect("nobody panicked").push(updates);
    }

    fn times_wait(&self) {
        self.1.store(true, Ordering::Relaxed);
    }

    fn metrics(&self) -> Metrics {
        Metrics::default()
    }
}

/// A command as it went to the log, and its answers.
pub type Logged = (Vec<u8>, Vec<u8>);
/// All that went to a log.
pub type Log = Arc<Mutex<Vec<Logged>>>;

/// Applies what came in, as the server does.
pub fn commit(dsa: &Arc<Dsa>, applier: &mut Applier, fixture: &Fixture, log: &mut Vec<Logged>) {
    let coming = std::mem::take(&mut *fixture.0.lock().expect("nobody panicked"));
    if fixture.1.swap(false, Ordering::Relaxed) {
        let mut parcel = Vec::new();
        Head::default().encode(1, &mut parcel);
        push_times(&dsa.account_times().take(usize::MAX), &mut parcel);
        let command = Parcel::decode(1, &parcel).and_then(|mut parcel| parcel.next_command());
        let Ok(Some(Item { body: Body::Times(times), .. })) = command else {
            panic!("no times: {command:?}")
        };
        applier.apply_times(times).expect("there is memory");
    }
    for mut updates in coming {
        if let Some(record) = updates.settings().cloned() {
            let text = format!("{record:?}").into_bytes();
            applier.apply_settings(&updates, START.wall_ms).expect("they were looked at");
            log.push((text, Vec::new()));
            updates.succeed(&mut Waking::default());
            continue;
        }
        let adds = updates.adds();
        dsa.shard().writer().reserve_ids(adds, updates.ids()).expect("there are enough");
        let (mut record, mut answers) = (Vec::new(), updates.answers_buffer());
        updates.command(START.wall_ms).encode(&mut record);
        applier.apply_updates(&mut updates, START.wall_ms, &mut answers).expect("it can be applied");
        log.push((record, answers.clone()));
        updates.answer(answers, &mut Waking::default());
    }
}

/// A client of an empty directory with a log, and what goes through it.
pub fn journaled() -> (Client, Log) {
    journaled_with(config())
}

/// The same, configured otherwise.
pub fn journaled_with(config: Config) -> (Client, Log) {
    let mut client = Client::empty(config);
    let (fixture, log) = (Arc::new(Fixture::default()), Log::default());
    client.dsa.journal_to(Arc::clone(&fixture) as Arc<dyn Journal>);
    client.fixture = Some(Arc::clone(&fixture));
    let mut applier = Applier::new(&client.dsa).expect("there are few readers");
    applier.behave(dsa::behaviour::NEWEST);
    let (dsa, logged) = (Arc::clone(&client.dsa), Arc::clone(&log));
    client.commit = Some(Rc::new(RefCell::new(move || {
        commit(&dsa, &mut applier, &fixture, &mut logged.lock().expect("nobody panicked"));
    })));
    (client, log)
}
