//! Verifications and hashes that take long: a thread of a pool does them, and the request that needs them is run again when
//! they are done.
//!
//! A request asks for what it needs ([`super::Passwords`]). What is fast is done at once. Anything else it lacks: it is given up without an
//! answer, its session waits, and it runs again with the outcomes at hand. It may lack others then, since a stored value may have
//! changed. So an operation is written as if every verification were immediate, and nothing half done is kept.

use crate::chaining::{Answer, Chaining, Question};
use crate::contexts::{Contexts, Kept, Step};
use crate::tokens::{Claims, Tokens};
use ::password::{Memory, SALT_BYTES, Scheme, Stored, quality};
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroizing;

/// A verification or a hash. It cannot be printed: it holds a password, or a token, which is as good as one.
pub(crate) struct Task {
    kind: Kind,
    password: Zeroizing<Vec<u8>>,
}

enum Kind {
    /// Is it the password that this value stands for?
    Verify(Vec<u8>),
    /// What is stored of it? The salt is chosen by the thread that asks: a pool has no random bytes.
    Make(Scheme, [u8; SALT_BYTES]),
    /// What does it say, which is a token, if its issuer has signed it?
    Read(Arc<dyn Tokens>),
    /// What comes of it, which is a message, in this security context, or in one that begins with it?
    Step(Arc<dyn Contexts>, Option<Kept>),
    /// What do other servers answer?
    Follow(Arc<dyn Chaining>, Question),
    /// How hard is it to guess for somebody who knows these names?
    Score(Vec<Vec<u8>>),
}

/// What came of a task.
pub(crate) enum Outcome {
    Verified(bool),
    Made(Result<Vec<u8>, &'static str>),
    Read(Option<Claims>),
    Stepped(Kept, Step),
    Followed(Answer),
    Scored(u8),
}

/// A task with its outcome.
/// The task is kept with it, for the request that runs again may ask for something else by then: an outcome counts only for the very stored
/// value and password that it came of.
pub(crate) struct Done {
    task: Task,
    outcome: Outcome,
}

/// A request lacks an outcome: it is run again when that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Later;

impl Task {
    /// To compare a password with what is stored.
    pub(super) fn verify(stored: &[u8], password: &[u8]) -> Task {
        Task { kind: Kind::Verify(stored.to_vec()), password: password.to_vec().into() }
    }

    /// To make what is stored of a password, with a salt that was drawn before.
    pub(super) fn make(scheme: Scheme, password: &[u8], salt: [u8; SALT_BYTES]) -> Task {
        Task { kind: Kind::Make(scheme, salt), password: password.to_vec().into() }
    }

    /// To look at an access token: who issued it, for whom, until when.
    pub(super) fn read(tokens: &Arc<dyn Tokens>, token: &[u8]) -> Task {
        Task { kind: Kind::Read(Arc::clone(tokens)), password: token.to_vec().into() }
    }

    pub(super) fn step(contexts: &Arc<dyn Contexts>, kept: Option<&Kept>, message: &[u8]) -> Task {
        Task { kind: Kind::Step(Arc::clone(contexts), kept.cloned()), password: message.to_vec().into() }
    }

    pub(super) fn follow(chaining: &Arc<dyn Chaining>, question: Question) -> Task {
        Task { kind: Kind::Follow(Arc::clone(chaining), question), password: Vec::new().into() }
    }

    /// To say how hard a password is to guess, by those names too.
    pub(super) fn score(password: &[u8], names: &[Vec<u8>]) -> Task {
        Task { kind: Kind::Score(names.to_vec()), password: password.to_vec().into() }
    }

    /// Does it.
    pub(super) fn run(self, memory: &mut Memory) -> Done {
        let outcome = match &self.kind {
            Kind::Verify(stored) => {
                let stored = Stored::read(stored);
                Outcome::Verified(stored.is_ok_and(|stored| stored.verify(&self.password, memory)))
            }
            Kind::Make(scheme, salt) => Outcome::Made(make(*scheme, &self.password, *salt, memory)),
            Kind::Read(tokens) => Outcome::Read(tokens.claims(&self.password)),
            Kind::Step(contexts, kept) => {
                let (kept, step) = take_step(contexts, kept.as_ref(), &self.password);
                Outcome::Stepped(kept, step)
            }
            Kind::Follow(chaining, question) => Outcome::Followed(chaining.ask(question)),
            Kind::Score(names) => Outcome::Scored(quality::score(&self.password, names)),
        };
        Done { task: self, outcome }
    }
}

/// Takes a step in a security context, or in a new one.
pub(super) fn take_step(contexts: &Arc<dyn Contexts>, kept: Option<&Kept>, message: &[u8]) -> (Kept, Step) {
    let kept = kept.map_or_else(|| Arc::new(Mutex::new(contexts.begin())), Arc::clone);
    // Of a session there is one request at a time, so nobody has to wait here.
    let step = kept.lock().unwrap_or_else(PoisonError::into_inner).step(message);
    (kept, step)
}

/// What is stored of a password.
///
/// # Errors
/// What would be right, if the scheme cannot stand for it.
pub(super) fn make(
    scheme: Scheme,
    password: &[u8],
    salt: [u8; SALT_BYTES],
    memory: &mut Memory,
) -> Result<Vec<u8>, &'static str> {
    scheme.make(password, salt, memory).map_err(|not_made| not_made.0)
}

impl Done {
    /// Whether a stored value was verified with this password, if that was the task.
    pub(super) fn verified(&self, of: &[u8], password: &[u8]) -> Option<bool> {
        match (&self.task.kind, &self.outcome) {
            (Kind::Verify(stored), Outcome::Verified(is_right)) => {
                (stored == of && **self.task.password == *password).then_some(*is_right)
            }
            _ => None,
        }
    }

    /// What this token says, if that was the task.
    pub(super) fn read(&self, token: &[u8]) -> Option<Option<Claims>> {
        match &self.outcome {
            Outcome::Read(claims) => (**self.task.password == *token).then(|| claims.clone()),
            _ => None,
        }
    }

    /// What has come of this message, if that was the task.
    pub(super) fn stepped(&self, message: &[u8]) -> Option<(Kept, Step)> {
        match &self.outcome {
            Outcome::Stepped(kept, step) => {
                (**self.task.password == *message).then(|| (Arc::clone(kept), step.clone()))
            }
            _ => None,
        }
    }

    /// What other servers answered, if that was the task.
    pub(super) fn followed(&self, asked: &Question) -> Option<&Answer> {
        match (&self.task.kind, &self.outcome) {
            (Kind::Follow(_, question), Outcome::Followed(answer)) => (question == asked).then_some(answer),
            _ => None,
        }
    }

    /// What other servers were asked and have answered, if that was the task.
    pub(super) fn followed_any(&self) -> Option<(&Question, &Answer)> {
        match (&self.task.kind, &self.outcome) {
            (Kind::Follow(_, question), Outcome::Followed(answer)) => Some((question, answer)),
            _ => None,
        }
    }

    /// How hard this password is to guess, if that was the task.
    pub(super) fn scored(&self, password: &[u8], with: &[Vec<u8>]) -> Option<u8> {
        match (&self.task.kind, &self.outcome) {
            (Kind::Score(names), Outcome::Scored(score)) => {
                (names == with && **self.task.password == *password).then_some(*score)
            }
            _ => None,
        }
    }

    /// What is stored of this password with a scheme, if that was the task.
    pub(super) fn made(&self, with: Scheme, password: &[u8]) -> Option<Result<&[u8], &'static str>> {
        match (&self.task.kind, &self.outcome) {
            (Kind::Make(scheme, _), Outcome::Made(made)) => {
                let is_it = *scheme == with && **self.task.password == *password;
                is_it.then_some(made.as_deref().map_err(|text| *text))
            }
            _ => None,
        }
    }
}
