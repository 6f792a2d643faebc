//! userPassword values of entries (RFC 2307 section 5.3): is a password the one that is stored, and what is stored for a new one?
//! The schemes are the crate `password`'s. A value that is no hash of a known scheme never matches: a directory that was loaded from
//! elsewhere does not take the text of a hash for a password.

mod dictionary;
mod failures;
mod forms;
pub(crate) mod nobody;
mod one_times;
mod outward;
pub mod policies;
mod pool;
mod values;
mod verified;
mod work;

pub(crate) use self::dictionary::Dictionary;
pub use self::failures::FailedBinds;
pub(crate) use self::failures::Failures;
pub(crate) use self::forms::Forms;
pub(crate) use self::outward::Outward;
use self::policies::{Policy, Try, Verdict};
pub(crate) use self::pool::{Owner, Ticket};
pub use self::pool::{Pool, PoolMetrics};
pub(crate) use self::values::{first, is_there, visit};
pub(crate) use self::work::{Done, Later};
use self::work::{Task, make, take_step};
use crate::chaining::{Answer, Question};
use crate::contexts::{Contexts, Kept, Step};
use crate::outcome::FixedRefusal;
use crate::tokens::{Claims, Tokens};
use ::password::one_time::{OneTime, split_code};
use ::password::{Memory, SALT_BYTES, Stored, quality, split_scheme};
use env::entropy::Entropy;
use model::ResultCode;
use model::limits::PASSWORD_BYTES_MAX;
use std::sync::Arc;
use store::{EntryRef, ReadPoint};
use zeroize::Zeroizing;

pub(crate) use ::password::is_hash;
pub use ::password::{Refused, Scheme};

/// What passwords are made of: without characters that are taken for each other.
const ALPHABET: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Characters of a password that is made: more than 90 bits.
const GENERATED_CHARS: usize = 16;
/// Values of an entry that take long to verify and are tried for one password.
const SLOW_MAX: usize = 2;

/// What an operation returns that lacks an outcome. Its client never sees it: the operation is run again.
pub(crate) const LATER: FixedRefusal = (ResultCode::Busy, "a password is being verified or stored");

/// What one thread verifies and makes stored passwords with.
///
/// Between [`Passwords::begin_again`] and [`Passwords::end`] it has the outcomes of one request. Nothing of these may be left for another
/// request of the thread, which would be answered by what was worked out for somebody else.
#[derive(Default)]
pub(crate) struct Passwords {
    memory: Memory,
    pool: Arc<Pool>,
    /// Of the request that runs: outcomes that were worked out for it, and why there are no more.
    known: Vec<Done>,
    refusal: Option<FixedRefusal>,
    is_again: bool,
    /// The password that was made for it.
    generated: Option<Zeroizing<Vec<u8>>>,
    /// It is a bind that is wrong whatever it says.
    is_given_up: bool,
    /// What it lacks.
    lacking: Vec<Task>,
    /// The pool that does it, if not the one of passwords.
    other_pool: Option<Arc<Pool>>,
    /// Whose account that is about, if its name does not say so.
    pub(crate) account: Option<u64>,
    /// What a password policy says of the request.
    pub(crate) verdict: Verdict,
    /// The try of an account that the request is. It waits with the request, for it is a failure until the password is known to be right.
    pub(crate) tried: Option<Try>,
    /// The policy of the entry that a transaction looks at as it has made it.
    pub(crate) policy: Option<Policy>,
}

/// What was worked out for a request that waited.
#[derive(Default)]
pub(crate) struct Outcomes {
    known: Vec<Done>,
    refusal: Option<FixedRefusal>,
    generated: Option<Zeroizing<Vec<u8>>>,
    is_given_up: bool,
    tried: Option<Try>,
}

impl Outcomes {
    /// Adds what came of a job.
    pub(crate) fn add(&mut self, done: Result<Vec<Done>, FixedRefusal>) {
        match done {
            Ok(done) => self.known.extend(done),
            Err(refusal) => self.refusal = Some(refusal),
        }
    }
}

impl Passwords {
    /// For a thread of an agent with this pool.
    pub(crate) fn of(pool: &Arc<Pool>) -> Passwords {
        Passwords { pool: Arc::clone(pool), ..Passwords::default() }
    }

    /// A request runs that waited.
    pub(crate) fn begin_again(&mut self, outcomes: Outcomes) {
        (self.known, self.refusal, self.generated) = (outcomes.known, outcomes.refusal, outcomes.generated);
        (self.is_again, self.is_given_up) = (true, outcomes.is_given_up);
        self.tried = outcomes.tried;
    }

    /// It has run.
    pub(crate) fn end(&mut self) {
        self.known.clear();
        self.lacking.clear();
        (self.refusal, self.is_again, self.is_given_up, self.generated) = (None, false, false, None);
        (self.verdict, self.tried, self.policy) = (Verdict::default(), None, None);
        (self.account, self.other_pool) = (None, None);
    }

    /// Is a bind wrong whatever it says? It is decided when the bind runs first.
    pub(crate) fn is_given_up(&mut self, decide: impl FnOnce() -> bool) -> bool {
        self.is_given_up = if self.is_again { self.is_given_up } else { decide() };
        self.is_given_up
    }

    /// Was anything worked out for the request that runs?
    pub(crate) fn has_outcomes(&self) -> bool {
        !self.known.is_empty()
    }

    /// Does a request run that has run before?
    pub(crate) fn is_again(&self) -> bool {
        self.is_again
    }

    /// Has it been worked out what is stored of a password by the schemes that take long?
    pub(crate) fn has_made(&self, schemes: &[Scheme], password: &[u8]) -> bool {
        let mut slow = schemes.iter().filter(|scheme| !scheme.is_fast()).peekable();
        slow.peek().is_some()
            && slow.all(|scheme| self.known.iter().any(|done| done.made(*scheme, password).is_some()))
    }

    /// Is nobody made to wait by work that can be left out? Not after a refusal, either: that of the work would be the request's.
    pub(crate) fn is_idle(&self) -> bool {
        self.refusal.is_none() && self.pool.metrics().waiting == 0
    }

    /// Must the request that just ran be run again? Not if what it lacks was refused.
    #[inline]
    pub(crate) fn lacks(&self) -> bool {
        !self.lacking.is_empty() && self.refusal.is_none()
    }

    /// Why the request that just ran cannot have what it lacks.
    #[inline]
    pub(crate) fn refusal(&self) -> Option<FixedRefusal> {
        self.refusal.filter(|_| !self.lacking.is_empty())
    }

    /// Queues what the request lacks. Returns what its session waits with, and what is known so far.
    pub(crate) fn submit(&mut self, owner: Owner, now_ns: u64) -> (Option<Arc<Ticket>>, Outcomes) {
        let tasks = std::mem::take(&mut self.lacking);
        let outcomes = Outcomes {
            known: std::mem::take(&mut self.known),
            refusal: None,
            generated: self.generated.take(),
            is_given_up: self.is_given_up,
            tried: self.tried.take(),
        };
        let other = self.other_pool.take();
        match other.as_ref().unwrap_or(&self.pool).submit(tasks, owner, now_ns) {
            Ok(ticket) => (Some(ticket), outcomes),
            Err(refusal) => (None, Outcomes { refusal: Some(refusal), ..outcomes }),
        }
    }

    /// A password that nobody can guess; the same one for a request that runs again.
    pub(crate) fn generate(&mut self, entropy: &mut dyn Entropy) -> Vec<u8> {
        if !self.is_again {
            self.generated = None;
        }
        self.generated.get_or_insert_with(|| generate(entropy).into()).to_vec()
    }

    /// Is it the password that a stored value stands for?
    ///
    /// # Errors
    /// [`Later`] if it takes long and there is a pool to do it. The task is then among those that the request lacks, and the caller goes on to
    /// name all others that it will need, so that they are one job.
    pub(crate) fn verify(&mut self, value: &[u8], given: &[u8]) -> Result<bool, Later> {
        let Ok(stored) = Stored::read(value) else { return Ok(false) };
        if stored.is_fast() || !self.pool.is_served() || given.len() > PASSWORD_BYTES_MAX {
            return Ok(stored.verify(given, &mut self.memory));
        }
        self.known.iter().find_map(|done| done.verified(value, given)).ok_or_else(|| {
            self.lacking.push(Task::verify(value, given));
            Later
        })
    }

    /// What a token says, if its issuer has signed it.
    ///
    /// # Errors
    /// [`Later`] as of [`Passwords::verify`]: a signature takes longer to verify than any digest.
    pub(crate) fn read_token(
        &mut self,
        tokens: &Arc<dyn Tokens>,
        token: &[u8],
    ) -> Result<Option<Claims>, Later> {
        if !self.pool.is_served() {
            return Ok(tokens.claims(token));
        }
        self.known.iter().find_map(|done| done.read(token)).ok_or_else(|| {
            self.lacking.push(Task::read(tokens, token));
            Later
        })
    }

    /// What comes of a message in a security context, or in one that begins with it. The request that runs again finds it: no message is taken twice.
    ///
    /// # Errors
    /// [`Later`] as of [`Passwords::verify`]: the library reads files.
    pub(crate) fn step(
        &mut self,
        contexts: &Arc<dyn Contexts>,
        kept: Option<&Kept>,
        message: &[u8],
    ) -> Result<(Kept, Step), Later> {
        if !self.pool.is_served() {
            return Ok(take_step(contexts, kept, message));
        }
        self.known.iter().find_map(|done| done.stepped(message)).ok_or_else(|| {
            self.lacking.push(Task::step(contexts, kept, message));
            Later
        })
    }

    /// What other servers answer, of which this one is the first.
    ///
    /// # Errors
    /// [`Later`] as of [`Passwords::verify`]: it takes as long as they take.
    pub(crate) fn follow(
        &mut self,
        outward: &Outward,
        server: u64,
        question: Question,
    ) -> Result<Answer, Later> {
        if !outward.pool.is_served() {
            return Ok(outward.chaining.ask(&question));
        }
        if let Some(answer) = self.known.iter().find_map(|done| done.followed(&question)) {
            return Ok(answer.clone());
        }
        self.account = Some(outward.place(server));
        self.other_pool = Some(Arc::clone(&outward.pool));
        self.lacking.push(Task::follow(&outward.chaining, question));
        Err(Later)
    }

    /// What was asked of other servers for the request that runs, and what they have answered.
    pub(crate) fn followed(&self) -> Option<(&Question, &Answer)> {
        self.known.iter().find_map(Done::followed_any)
    }

    /// How hard a new password is to guess for somebody who knows these names ([`quality::score`]).
    ///
    /// # Errors
    /// [`Later`] as of [`Passwords::verify`].
    pub(crate) fn score(&mut self, password: &[u8], names: &[Vec<u8>]) -> Result<u8, Later> {
        if !self.pool.is_served() || password.len() > PASSWORD_BYTES_MAX {
            return Ok(quality::score(password, names));
        }
        self.known.iter().find_map(|done| done.scored(password, names)).ok_or_else(|| {
            self.lacking.push(Task::score(password, names));
            Later
        })
    }

    /// What is stored for a new password: a value of each scheme.
    ///
    /// # Errors
    /// [`Later`] as of [`Passwords::verify`]; inside, why a scheme cannot stand for the password.
    pub(crate) fn store(
        &mut self,
        schemes: &[Scheme],
        password: &[u8],
        entropy: &mut dyn Entropy,
    ) -> Result<Result<Vec<Vec<u8>>, &'static str>, Later> {
        assert!(!schemes.is_empty(), "a configuration has a scheme");
        let mut all = Vec::new();
        for scheme in schemes {
            let mut salt = [0; SALT_BYTES];
            entropy.fill(&mut salt);
            if scheme.is_fast() || !self.pool.is_served() {
                all.push(make(*scheme, password, salt, &mut self.memory));
                continue;
            }
            match self.known.iter().find_map(|done| done.made(*scheme, password)) {
                Some(made) => all.push(made.map(<[u8]>::to_vec)),
                None => self.lacking.push(Task::make(*scheme, password, salt)),
            }
        }
        if all.len() < schemes.len() { Err(Later) } else { Ok(all.into_iter().collect()) }
    }

    /// The value of an entry that asks for a code, if password and code are right. Whether the code was used is not looked at.
    ///
    /// # Errors
    /// [`Later`] as of [`Passwords::verify`].
    pub(crate) fn find_one_time(
        &mut self,
        read_point: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        password: &[u8],
        now_ms: u64,
    ) -> Result<Option<Right>, Later> {
        // Of several the first counts.
        let Some(value) =
            first(read_point, entry, |value| OneTime::of(value).is_some() && Stored::read(value).is_ok())
        else {
            return Ok(None);
        };
        let Some(one_time) = OneTime::of(&value) else { return Ok(None) };
        let (word, code) = split_code(password);
        // Worked out whatever the password is.
        let step = code.and_then(|code| one_time.step(code, now_ms));
        let is_right = self.verify(one_time.stored, word)?;
        drop(one_time);
        Ok(step.filter(|_| is_right).map(|step| Right { stored: value, step }))
    }

    /// The userPassword value of an entry that stands for a password.
    /// The fast ones are tried first, and of the slow ones no more than [`SLOW_MAX`]: nothing keeps an entry from having hundreds.
    pub(crate) fn find(
        &mut self,
        read_point: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        password: &[u8],
    ) -> Result<Option<Vec<u8>>, Later> {
        let mut slow: Vec<Vec<u8>> = Vec::new();
        let found = first(read_point, entry, |value| match Stored::read(value) {
            // It is looked for otherwise.
            Ok(stored) if stored.is_one_time() => false,
            Ok(stored) if stored.is_fast() => stored.verify(password, &mut self.memory),
            Ok(_) if slow.len() < SLOW_MAX => {
                slow.push(value.to_vec());
                false
            }
            _ => false,
        });
        if found.is_some() {
            return Ok(found);
        }
        // All of them in one job, so that it takes the same time whichever is right.
        let verified: Vec<Result<bool, Later>> =
            slow.iter().map(|value| self.verify(value, password)).collect();
        match verified.iter().position(|verified| *verified == Ok(true)) {
            Some(at) => Ok(Some(slow.swap_remove(at))),
            None if verified.contains(&Err(Later)) => Err(Later),
            None => Ok(None),
        }
    }
}

/// What a password is of an entry that asks for a code.
pub(crate) struct Right {
    pub(crate) stored: Vec<u8>,
    /// The step of the code.
    pub(crate) step: u64,
}

/// A password that nobody can guess: 16 characters that are not taken for each other, more than 90 bits.
/// RFC 3062 section 2: the server makes one where the client sends none.
pub fn generate(entropy: &mut dyn Entropy) -> Vec<u8> {
    let mut password = Vec::with_capacity(GENERATED_CHARS);
    // Each character is as likely as any other: what lies above the last multiple is not used.
    let fair = 256 / ALPHABET.len() * ALPHABET.len();
    while password.len() < GENERATED_CHARS {
        let mut bytes = [0; GENERATED_CHARS];
        entropy.fill(&mut bytes);
        let usable = bytes.iter().filter(|byte| usize::from(**byte) < fair);
        let chars = usable.map(|byte| ALPHABET[usize::from(*byte) % ALPHABET.len()]);
        password.extend(chars.take(GENERATED_CHARS - password.len()));
    }
    password
}

/// The password that a value in the clear stands for; `None` of one with another scheme.
pub(crate) fn word(value: &[u8]) -> Option<&[u8]> {
    match split_scheme(value) {
        None => Some(value),
        Some((scheme, rest)) => {
            let is_clear = scheme.eq_ignore_ascii_case(b"CLEARTEXT") || scheme.eq_ignore_ascii_case(b"CLEAR");
            is_clear.then_some(rest)
        }
    }
}

/// Why no password can ever be the one that a stored value stands for; `None` if there may be one.
/// The text goes to the administrator at a start; it has nothing of the value but its scheme.
pub fn never_matches(stored: &[u8]) -> Option<String> {
    Stored::read(stored).err().map(|refused| refused.to_string())
}

/// Does a password look like a value that was hashed already? Stored as one, it would bind with what it is the hash of.
/// So a client that sends a hash is refused, or it would set a password that it does not know.
pub(crate) fn has_scheme(password: &[u8]) -> bool {
    split_scheme(password).is_some()
}

/// The scheme that a root password in the clear is recorded with: it is compared at every start, on the thread that starts.
const RECORDED: Scheme = Scheme::SaltedSha512;

/// What is recorded of the root password: its hash. One that is a hash already stays as it is.
/// A configured password may be clear text in a file that only the server reads; what is recorded goes into backups.
pub fn recorded(password: &[u8], entropy: &mut dyn Entropy) -> String {
    let mut hash = || Passwords::default().store(&[RECORDED], password, entropy).ok()?.ok()?.pop();
    let value = if has_scheme(password) { None } else { hash() };
    String::from_utf8_lossy(&value.unwrap_or_else(|| password.to_vec())).into_owned()
}

/// Is a configured root password the one of which `stored` was recorded?
pub fn is_recorded(stored: &[u8], password: &[u8]) -> bool {
    ::password::same(stored, password) || Passwords::default().verify(stored, password) == Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::entropy::SeededEntropy;

    #[test]
    fn what_can_never_match_is_recognised() {
        for stored in
            [&b"{SSHA}notbase64!"[..], b"{SSHA}notbase64", b"{SSHA}", b"{sha}YWJj", b"{CRYPT}x", b"", b" \t"]
        {
            let reason = never_matches(stored).unwrap_or_else(|| panic!("{stored:?}"));
            assert!(!reason.is_empty() && !reason.contains("notbase64"), "{reason}");
        }
        for stored in [
            "secret",
            " a",
            "{not a scheme",
            "{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0",
            "{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ2J0=",
        ] {
            assert_eq!(never_matches(stored.as_bytes()), None, "{stored}");
        }
    }

    #[test]
    fn what_is_stored_is_of_each_scheme_and_never_the_same() {
        let (mut entropy, mut passwords) = (SeededEntropy::new(7), Passwords::default());
        let schemes = [Scheme::SaltedSha1, Scheme::SaltedSha512];
        let mut store = || passwords.store(&schemes, b"abc", &mut entropy).unwrap().unwrap();
        let (one, two) = (store(), store());
        assert!(one[0].starts_with(b"{SSHA}") && one[1].starts_with(b"{SSHA512}"));
        assert!(one.iter().chain(&two).all(|value| passwords.verify(value, b"abc") == Ok(true)));
        assert!(one != two && passwords.verify(&one[0], b"abd") == Ok(false));
        let text = passwords.store(&[Scheme::Clear], b"{SHA}x", &mut entropy).unwrap().unwrap_err();
        assert!(text.contains("braces"), "{text}");
    }

    #[test]
    fn made_passwords_are_of_all_characters() {
        let mut entropy = SeededEntropy::new(7);
        let mut met = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let password = generate(&mut entropy);
            assert_eq!(password.len(), GENERATED_CHARS);
            assert!(password.iter().all(|byte| ALPHABET.contains(byte)));
            met.extend(password);
        }
        assert_eq!(met.len(), ALPHABET.len());
    }
}
