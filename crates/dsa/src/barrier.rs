//! Where a session waits before it reads in a directory whose log is replicated: until its replica has all that was acknowledged
//! anywhere before the session asked.

use crate::wakes::{Wakes, Waking};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// What a session knows of the input that it is offered next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behind {
    /// Bytes at its front for which a barrier was asked.
    pub(crate) bytes: usize,
    /// Nobody answered: the requests in them are refused.
    pub(crate) is_refused: bool,
}

/// One question of one session. The session polls it; the owner of the log answers it once.
#[derive(Debug, Default)]
pub struct Barrier(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether it is passed; none as long as that is not known.
    is_passed: Option<bool>,
    waker: Option<Waker>,
    /// Of the session's thread, once it waited.
    wakes: Option<Arc<Wakes>>,
}

impl Barrier {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement, so one who panicked left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is passed, once that is known.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, wakes: &Arc<Wakes>) -> Poll<bool> {
        let mut state = self.lock();
        if let Some(is_passed) = state.is_passed {
            return Poll::Ready(is_passed);
        }
        state.waker = Some(cx.waker().clone());
        state.wakes.get_or_insert_with(|| Arc::clone(wakes));
        Poll::Pending
    }

    /// Whether it is passed, once that is known: for one who is no session, and looks again after a while.
    pub fn is_passed(&self) -> Option<bool> {
        self.lock().is_passed
    }

    /// The session may read: whatever was acknowledged before it asked can be read here. It is woken with others.
    pub fn pass(&self, waking: &mut Waking) {
        self.end(true, waking);
    }

    /// Nobody answers: the session's requests are refused. It is woken with others.
    pub fn fail(&self, waking: &mut Waking) {
        self.end(false, waking);
    }

    fn end(&self, is_passed: bool, waking: &mut Waking) {
        let mut state = self.lock();
        assert!(state.is_passed.is_none(), "a barrier is answered once");
        state.is_passed = Some(is_passed);
        let waiting = state.waker.take().zip(state.wakes.clone());
        drop(state);
        if let Some((waker, wakes)) = waiting {
            waking.push(waker, &wakes);
        }
    }
}
