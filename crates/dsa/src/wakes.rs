//! Wakes sessions whose updates were answered, and those that wait for changes. The thread that answers them hands their wakers over to the thread of the sessions,
//! which wakes them itself. So a thread is woken once for many sessions: to wake a task of another thread costs a system call.
//!
//! Those that wait for changes are with their thread as well: who publishes a batch wakes each thread that has some, once, and does no work for each
//! of them.
//!
//! A thread that was woken for changes, or has found some, pauses before it looks for more: its sessions that have nothing to do sleep without a bell, and
//! are woken when the pause is over. So beside many changes it is woken by its own timer, and who publishes makes no system call. The first change after a
//! quiet time is reported at once, and any other after a pause at the latest.
//!
//! ```text
//! awake      who goes to sleep looks for changes first, and is given the bell
//! due        a session was woken or has found changes: those that were woken with it look as well
//! paused     who goes to sleep does not look. Nobody is forgotten: all are woken at the end, and look then
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// The sessions of one thread that are to be woken. No more than wait, each once.
#[derive(Debug, Default)]
pub(crate) struct Wakes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sessions: Vec<Waker>,
    /// Those that wait for the next change, by number.
    sleepers: BTreeMap<u64, Waker>,
    /// Something was changed.
    is_rung: bool,
    /// The task of the thread that wakes them, while it waits for some.
    task: Option<Waker>,
    /// Whether there is such a task. Without one the one that answers wakes the sessions.
    has_task: bool,
    /// Whether somebody is going to wake the task.
    is_noted: bool,
    pause: Pause,
}

/// Whether a thread looks for changes.
#[derive(Debug, Default)]
enum Pause {
    /// It does whenever a session has nothing else to do, for no task ends a pause.
    #[default]
    Never,
    /// It does, until this task is woken.
    Awake(Waker),
    /// It does; the task was woken, to begin a pause behind those that were woken before.
    Due,
    /// It does not.
    Paused,
}

impl State {
    /// A pause is to begin: the task that is to be woken for that, behind all sessions that were woken before.
    #[must_use]
    fn pause(&mut self) -> Option<Waker> {
        match std::mem::take(&mut self.pause) {
            Pause::Awake(task) => {
                self.pause = Pause::Due;
                Some(task)
            }
            other => {
                self.pause = other;
                None
            }
        }
    }
}

impl Wakes {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement, so one who panicked left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the sessions that were submitted, and then looks again; without any it waits for some. For the task of their
    /// thread. `due` is memory that is used again, empty before and after.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, due: &mut Vec<Waker>) {
        let mut state = self.lock();
        state.has_task = true;
        let mut pause = None;
        if std::mem::take(&mut state.is_rung) {
            let sleepers = std::mem::take(&mut state.sleepers);
            // The last of them may be gone by now, and then nobody looks.
            if !sleepers.is_empty() {
                pause = state.pause();
            }
            state.sessions.extend(sleepers.into_values());
        }
        if state.sessions.is_empty() {
            state.task = Some(cx.waker().clone());
            return;
        }
        std::mem::swap(&mut state.sessions, due);
        drop(state);
        due.drain(..).for_each(Waker::wake);
        pause.into_iter().for_each(Waker::wake);
        // Behind those that it woke: while they are served others may be answered, without a system call.
        cx.waker().wake_by_ref();
    }

    /// Begins a pause of the thread when one is due: ready then, and to be called again when the pause is to end. For another task of the thread, which
    /// runs behind those that were woken before it.
    pub(crate) fn poll_pause(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        let sleepers = match state.pause {
            Pause::Due => {
                state.pause = Pause::Paused;
                return Poll::Ready(());
            }
            Pause::Paused => std::mem::take(&mut state.sleepers),
            Pause::Never | Pause::Awake(_) => BTreeMap::new(),
        };
        state.pause = Pause::Awake(cx.waker().clone());
        drop(state);
        sleepers.into_values().for_each(Waker::wake);
        Poll::Pending
    }

    /// Wakes the task of the thread.
    fn wake_task(&self) {
        let mut state = self.lock();
        state.is_noted = false;
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// What who publishes changes has of a thread: its bell.
impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        let mut state = self.lock();
        // At the end of a pause they are woken without it.
        if state.sleepers.is_empty() || matches!(state.pause, Pause::Paused) {
            return;
        }
        if state.has_task {
            state.is_rung = true;
            let task = state.task.take();
            drop(state);
            return task.into_iter().for_each(Waker::wake);
        }
        let sleepers = std::mem::take(&mut state.sleepers);
        drop(state);
        sleepers.into_values().for_each(Waker::wake);
    }
}

impl Wakes {
    /// A session is gone.
    pub(crate) fn forget(&self, session: u64) {
        self.lock().sleepers.remove(&session);
    }
}

/// A session that may wait for changes.
pub(crate) struct Sleeper<'a> {
    wakes: &'a Arc<Wakes>,
    session: u64,
    waker: &'a Waker,
}

impl<'a> Sleeper<'a> {
    /// With its thread, number and waker.
    pub(crate) fn new(wakes: &'a Arc<Wakes>, session: u64, waker: &'a Waker) -> Sleeper<'a> {
        Sleeper { wakes, session, waker }
    }

    /// Waits, unless `has_more` says that there is no need to: it is given the bell to be rung. The same is returned. While the thread pauses it
    /// is not asked.
    /// The lock is held meanwhile, so that the bell is not rung between the two. Who rings it must hold no lock that `has_more` takes.
    pub(crate) fn sleep(&mut self, has_more: impl FnOnce(&Waker) -> bool) -> bool {
        let mut state = self.wakes.lock();
        if !matches!(state.pause, Pause::Paused) {
            let bell = Waker::from(Arc::clone(self.wakes));
            if has_more(&bell) {
                let pause = state.pause();
                drop(state);
                pause.into_iter().for_each(Waker::wake);
                return true;
            }
        }
        state.sleepers.entry(self.session).or_insert_with(|| self.waker.clone()).clone_from(self.waker);
        false
    }
}

/// Who answers sessions, and wakes their threads when there are enough of them.
#[derive(Debug, Default)]
pub struct Waking(Vec<Arc<Wakes>>);

impl Waking {
    /// Hands a session over to its thread.
    pub(crate) fn push(&mut self, session: Waker, wakes: &Arc<Wakes>) {
        let mut state = wakes.lock();
        if !state.has_task {
            drop(state);
            return session.wake();
        }
        state.sessions.push(session);
        if !std::mem::replace(&mut state.is_noted, true) {
            drop(state);
            self.0.push(Arc::clone(wakes));
        }
    }

    /// Wakes the threads of the sessions that were submitted. Happens when this is dropped, too.
    pub fn wake(&mut self) {
        self.0.drain(..).for_each(|wakes| wakes.wake_task());
    }
}

impl Drop for Waking {
    fn drop(&mut self) {
        self.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Count {
        fn taken(&self) -> usize {
            self.0.swap(0, Ordering::Relaxed)
        }
    }

    #[test]
    fn a_thread_is_woken_once_for_many_sessions() {
        let (task, session) = (Arc::<Count>::default(), Arc::<Count>::default());
        let (of_task, of_session) = (Waker::from(Arc::clone(&task)), Waker::from(Arc::clone(&session)));
        let (wakes, mut waking, mut due) = (Arc::<Wakes>::default(), Waking::default(), Vec::new());
        waking.push(of_session.clone(), &wakes);
        assert_eq!(session.taken(), 1, "nobody else does it");

        let mut look = || wakes.poll(&mut Context::from_waker(&of_task), &mut due);
        look();
        for _ in 0..3 {
            waking.push(of_session.clone(), &wakes);
        }
        assert_eq!((task.taken(), session.taken()), (0, 0), "not yet");
        waking.wake();
        assert_eq!((task.taken(), session.taken()), (1, 0));
        look();
        assert_eq!((task.taken(), session.taken()), (1, 3), "it looks again, by its own waker");

        // It does not wait: it will see them.
        waking.push(of_session.clone(), &wakes);
        waking.wake();
        assert_eq!((task.taken(), session.taken()), (0, 0));
        look();
        assert_eq!((task.taken(), session.taken()), (1, 1));

        look();
        waking.push(of_session.clone(), &wakes);
        drop(waking);
        assert_eq!((task.taken(), session.taken()), (1, 0), "nobody is forgotten");
    }

    #[test]
    fn who_changes_something_wakes_a_thread_once() {
        let (task, session) = (Arc::<Count>::default(), Arc::<Count>::default());
        let (of_task, of_session) = (Waker::from(Arc::clone(&task)), Waker::from(Arc::clone(&session)));
        let (wakes, mut due, mut bells) = (Arc::<Wakes>::default(), Vec::new(), Vec::new());
        let mut sleep = |number, has_more| {
            Sleeper::new(&wakes, number, &of_session).sleep(|bell| {
                bells.push(bell.clone());
                has_more
            })
        };
        assert!(!sleep(1, false) && sleep(2, true));
        let bell = bells.pop().expect("it was given one");
        assert!(bells.iter().all(|other| other.will_wake(&bell)), "a thread has one");
        bell.wake_by_ref();
        assert_eq!(session.taken(), 1, "nobody else does it, and one does not wait");
        let mut look = || wakes.poll(&mut Context::from_waker(&of_task), &mut due);
        look();
        bell.wake_by_ref();
        assert_eq!(task.taken(), 0, "nobody waits");
        let sleep = |number| Sleeper::new(&wakes, number, &of_session).sleep(|_| false);
        assert!((0..100).chain(0..100).all(|number| !sleep(number)));
        wakes.forget(7);
        bell.wake_by_ref();
        bell.wake_by_ref();
        assert_eq!((task.taken(), session.taken()), (1, 0));
        look();
        assert_eq!(session.taken(), 99, "each once, and not who is gone");
    }

    #[test]
    fn a_thread_that_was_woken_pauses() {
        let [task, timer, session, other] = [(); 4].map(|()| Arc::<Count>::default());
        let of = |count: &Arc<Count>| Waker::from(Arc::clone(count));
        let wakes = Arc::<Wakes>::default();
        let (of_task, of_timer) = (of(&task), of(&timer));
        let mut due = Vec::new();
        let mut look = || wakes.poll(&mut Context::from_waker(&of_task), &mut due);
        let pause = || wakes.poll_pause(&mut Context::from_waker(&of_timer));
        let sleep = |number, waker: &Arc<Count>, has_more| {
            let mut is_asked = false;
            let more = Sleeper::new(&wakes, number, &of(waker)).sleep(|_| {
                is_asked = true;
                has_more
            });
            (is_asked, more)
        };
        let bell = Waker::from(Arc::clone(&wakes));
        look();
        assert_eq!(pause(), Poll::Pending);
        assert_eq!([sleep(1, &session, false), sleep(2, &other, false)], [(true, false); 2]);
        assert_eq!(timer.taken(), 0, "nothing happens");
        bell.wake_by_ref();
        assert_eq!((task.taken(), session.taken()), (1, 0));
        look();
        assert_eq!((session.taken(), other.taken(), timer.taken()), (1, 1, 1), "at once");
        assert_eq!(sleep(1, &session, true), (true, true), "those that were woken look");
        assert_eq!(pause(), Poll::Ready(()));
        task.taken();
        assert_eq!([sleep(1, &session, true), sleep(2, &other, true)], [(false, false); 2]);
        bell.wake_by_ref();
        assert_eq!((task.taken(), session.taken(), timer.taken()), (0, 0, 0), "it pauses");
        assert_eq!(pause(), Poll::Pending, "this is the end of it");
        assert_eq!((session.taken(), other.taken()), (1, 1), "nobody is forgotten");
        assert_eq!((sleep(1, &session, true), timer.taken()), ((true, true), 1), "it pauses again");
        assert_eq!(sleep(2, &other, false), (true, false), "it has looked, and has the bell");
        assert_eq!(pause(), Poll::Ready(()));
        bell.wake_by_ref();
        assert_eq!((pause(), other.taken()), (Poll::Pending, 1), "the bell that was rung in a pause");
        assert_eq!((sleep(2, &other, false), timer.taken()), ((true, false), 0), "nothing is left");
        bell.wake_by_ref();
        look();
        assert_eq!((other.taken(), timer.taken()), (1, 1), "at once, again");
        // Who is rung between a pause that is due and its beginning is woken now, or at its end.
        assert_eq!(sleep(2, &other, false), (true, false));
        bell.wake_by_ref();
        assert_eq!(pause(), Poll::Ready(()));
        look();
        assert_eq!(other.taken(), 1);
        assert_eq!(pause(), Poll::Pending);
        // The only one that was rung for is gone before it looks: the next one has a pause again.
        timer.taken();
        assert_eq!(sleep(2, &other, false), (true, false));
        bell.wake_by_ref();
        wakes.forget(2);
        look();
        assert_eq!((other.taken(), timer.taken()), (0, 0), "nobody looks");
        assert_eq!(sleep(1, &session, false), (true, false));
        bell.wake_by_ref();
        look();
        assert_eq!((session.taken(), timer.taken()), (1, 1), "it pauses again");
    }

    #[test]
    fn two_who_answer_do_not_wait_for_each_other() {
        let (task, session) = (Arc::<Count>::default(), Arc::<Count>::default());
        let (of_task, of_session) = (Waker::from(Arc::clone(&task)), Waker::from(Arc::clone(&session)));
        let (wakes, mut due) = (Arc::<Wakes>::default(), Vec::new());
        wakes.poll(&mut Context::from_waker(&of_task), &mut due);
        let (mut slow, mut quick) = (Waking::default(), Waking::default());
        slow.push(of_session.clone(), &wakes);
        quick.push(of_session, &wakes);
        quick.wake();
        slow.wake();
        assert_eq!(task.taken(), 1);
        wakes.poll(&mut Context::from_waker(&of_task), &mut due);
        assert_eq!(session.taken(), 2);
    }
}
