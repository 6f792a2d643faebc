//! Where a session waits before it reads in a directory whose log is replicated: until its replica has all that was acknowledged
//! anywhere before the session asked, or nobody can say so.

use crate::wakes::{Wakes, Waking};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// What a session knows of the input that it is offered next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behind {
    /// Bytes at its front for which a barrier was asked.
    pub(crate) bytes: usize,
    /// What it was answered, if there are some; and what the last one was answered that reads behind updates asked for.
    pub(crate) answer: Answer,
    /// No barrier was asked for what the session runs now: only what needs none may be run.
    pub(crate) is_without: bool,
    /// The session has come to a request that needs one.
    pub(crate) asks: bool,
}

/// What a barrier is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Whatever was acknowledged before it was asked for can be read here.
    #[default]
    Passed,
    /// Nobody knows that. What is here is read, and nothing changed.
    Without(Age),
    /// Nobody knows that, and nothing is read.
    Refused,
}

/// Milliseconds: all that was acknowledged so long before can be read. `None` where that is not known.
pub type Age = Option<u64>;

/// One question of one session. The session polls it; the owner of the log answers it once.
#[derive(Debug, Default)]
pub struct Barrier(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    answer: Option<Answer>,
    waker: Option<Waker>,
    /// Of the session's thread, once it waited.
    wakes: Option<Arc<Wakes>>,
}

impl Barrier {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement, so one who panicked left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it is answered, once it is.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, wakes: &Arc<Wakes>) -> Poll<Answer> {
        let mut state = self.lock();
        if let Some(answer) = state.answer {
            return Poll::Ready(answer);
        }
        state.waker = Some(cx.waker().clone());
        state.wakes.get_or_insert_with(|| Arc::clone(wakes));
        Poll::Pending
    }

    /// Whether it is passed, once that is known: for one who is no session, and looks again after a while.
    pub fn is_passed(&self) -> Option<bool> {
        self.lock().answer.map(|answer| answer == Answer::Passed)
    }

    /// The session may read: whatever was acknowledged before it asked can be read here. It is woken with others.
    pub fn pass(&self, waking: &mut Waking) {
        self.end(Answer::Passed, waking);
    }

    /// Nobody answers: the session may read what is here. It is woken with others.
    pub fn pass_without(&self, age: Age, waking: &mut Waking) {
        self.end(Answer::Without(age), waking);
    }

    /// Nobody answers: the session's requests are refused. It is woken with others.
    pub fn fail(&self, waking: &mut Waking) {
        self.end(Answer::Refused, waking);
    }

    /// Answers the session that waits for it, if one waits already.
    fn end(&self, answer: Answer, waking: &mut Waking) {
        let mut state = self.lock();
        assert!(state.answer.is_none(), "a barrier is answered once");
        state.answer = Some(answer);
        let waiting = state.waker.take().zip(state.wakes.clone());
        drop(state);
        if let Some((waker, wakes)) = waiting {
            waking.push(waker, &wakes);
        }
    }
}
