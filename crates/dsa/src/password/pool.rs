//! The pool: jobs of verifications and hashes that take long, in turn by address, for threads that do nothing else.
//!
//! An account has one job at a time, and the clients of an address four, so nobody takes all threads. The queue has a bound; what
//! waits too long is refused. Without threads there is no pool: tasks are then done where they come up, which is how a simulation stays
//! the same at every run.

use super::work::{Done, Task};
use crate::outcome::FixedRefusal;
use ::password::Memory;
use model::ResultCode;
use model::limits::{PASSWORD_JOB_AGE_NS_MAX, PASSWORD_JOBS_MAX, PASSWORD_JOBS_OF_ADDRESS};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Busy, for the same request may succeed when it is sent again.
pub(crate) const TOO_MANY: FixedRefusal =
    (ResultCode::Busy, "too many passwords wait to be verified or stored; try again");

/// The queue, and who works on it.
///
/// One lock guards all of it. It is taken twice for a job that takes milliseconds, so it is never contended by what it guards; jobs are
/// done outside of it. Stored words and passwords are in jobs only, which wipe them when they go.
#[derive(Default)]
pub struct Pool {
    state: Mutex<State>,
    work: Condvar,
    is_served: AtomicBool,
}

/// Numbers of the pool, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolMetrics {
    /// Jobs that wait.
    pub waiting: u64,
    /// Jobs that were done.
    pub done: u64,
    /// Jobs that were refused, because too many waited or they waited too long.
    pub refused: u64,
}

#[derive(Default)]
struct State {
    /// Jobs that wait, by address.
    jobs: BTreeMap<u64, VecDeque<Job>>,
    /// The addresses of `jobs`, in turn.
    turns: VecDeque<u64>,
    /// Jobs that are worked on: of which accounts, and how many of an address.
    accounts: BTreeSet<u64>,
    addresses: BTreeMap<u64, u32>,
    metrics: PoolMetrics,
    is_ended: bool,
}

/// Whose job it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Of the account whose password it is, whether there is such an account or not.
    pub(crate) account: u64,
    /// Of the client's address.
    pub(crate) address: u64,
}

struct Job {
    tasks: Vec<Task>,
    owner: Owner,
    since_ns: u64,
    ticket: Arc<Ticket>,
}

/// What a session waits with.
#[derive(Default)]
pub(crate) struct Ticket(Mutex<TicketState>);

#[derive(Default)]
struct TicketState {
    done: Option<Result<Vec<Done>, FixedRefusal>>,
    waker: Option<Waker>,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket")
    }
}

impl Ticket {
    fn lock(&self) -> MutexGuard<'_, TicketState> {
        // The state is whole after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands what was done to the session that waits for it.
    fn answer(&self, done: Result<Vec<Done>, FixedRefusal>) {
        let mut state = self.lock();
        state.done = Some(done);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The outcomes, once they are there, which are taken: a session asks until it has them, and not again. Or why there are none.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<Vec<Done>, FixedRefusal>> {
        let mut state = self.lock();
        match state.done.take() {
            Some(done) => Poll::Ready(done),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl State {
    /// The next job of the address whose turn it is, if it may be begun now.
    /// An address whose jobs must all wait keeps its turn for later. Each is looked at once, so the walk ends.
    fn next(&mut self) -> Option<Job> {
        for _ in 0..self.turns.len() {
            let address = self.turns.pop_front()?;
            let job = self.next_of(address);
            if self.jobs.get(&address).is_some_and(|jobs| !jobs.is_empty()) {
                self.turns.push_back(address);
            } else {
                self.jobs.remove(&address);
            }
            if let Some(job) = job {
                self.metrics.waiting -= 1;
                self.accounts.insert(job.owner.account);
                *self.addresses.entry(address).or_default() += 1;
                return Some(job);
            }
        }
        None
    }

    /// The first job of an address whose account is not worked on. Two at a time for one account would let a client that guesses take
    /// all threads, and would let a try run before the failure of the one before it has counted.
    fn next_of(&mut self, address: u64) -> Option<Job> {
        if self.addresses.get(&address).is_some_and(|running| *running >= PASSWORD_JOBS_OF_ADDRESS) {
            return None;
        }
        let jobs = self.jobs.get_mut(&address)?;
        let at = jobs.iter().position(|job| !self.accounts.contains(&job.owner.account))?;
        jobs.remove(at)
    }

    /// A job has ended that was begun. Places of addresses without jobs go, so that the tables are no longer than the queue.
    fn ended(&mut self, owner: Owner) {
        self.accounts.remove(&owner.account);
        if let Some(running) = self.addresses.get_mut(&owner.address) {
            *running -= 1;
            if *running == 0 {
                self.addresses.remove(&owner.address);
            }
        }
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Are there threads?
    pub(crate) fn is_served(&self) -> bool {
        self.is_served.load(Ordering::Relaxed)
    }

    /// From now on there are threads that call [`Pool::serve`].
    pub fn will_be_served(&self) {
        self.is_served.store(true, Ordering::Relaxed);
    }

    /// Its numbers.
    pub fn metrics(&self) -> PoolMetrics {
        self.lock().metrics
    }

    /// Queues tasks, to be done one after the other.
    ///
    /// # Errors
    /// The refusal if too many wait.
    pub(crate) fn submit(
        &self,
        tasks: Vec<Task>,
        owner: Owner,
        now_ns: u64,
    ) -> Result<Arc<Ticket>, FixedRefusal> {
        let mut state = self.lock();
        if state.metrics.waiting >= PASSWORD_JOBS_MAX || state.is_ended {
            state.metrics.refused += 1;
            return Err(TOO_MANY);
        }
        state.metrics.waiting += 1;
        let ticket = Arc::<Ticket>::default();
        let job = Job { tasks, owner, since_ns: now_ns, ticket: Arc::clone(&ticket) };
        let State { jobs, turns, .. } = &mut *state;
        let of_address = jobs.entry(owner.address).or_default();
        if of_address.is_empty() {
            turns.push_back(owner.address);
        }
        of_address.push_back(job);
        drop(state);
        self.work.notify_one();
        Ok(ticket)
    }

    /// Does jobs until the pool is ended. `now_ns`: the clock by which they were queued.
    pub fn serve(&self, now_ns: impl Fn() -> u64) {
        let mut memory = Memory::default();
        while let Some(job) = self.wait() {
            self.work_on(job, now_ns(), &mut memory);
        }
    }

    /// The next job, once there is one; `None` when the pool is ended.
    fn wait(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.is_ended {
                return None;
            }
            if let Some(job) = state.next() {
                return Some(job);
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does a job, or refuses it for its age, and reports to its session. The session learns of it last: what it does next may be another job of the
    /// same account, which must find the place free.
    fn work_on(&self, job: Job, now_ns: u64, memory: &mut Memory) {
        let Job { tasks, owner, since_ns, ticket } = job;
        // Its client has given up, or will; and those behind it wait.
        let is_old = now_ns.saturating_sub(since_ns) > PASSWORD_JOB_AGE_NS_MAX;
        let done = match is_old {
            true => Err(TOO_MANY),
            false => Ok(tasks.into_iter().map(|task| task.run(memory)).collect()),
        };
        let mut state = self.lock();
        state.ended(owner);
        match is_old {
            true => state.metrics.refused += 1,
            false => state.metrics.done += 1,
        }
        drop(state);
        ticket.answer(done);
        // A job of the same account or address may be begun now.
        self.work.notify_one();
    }

    /// Ends the threads when they have done what they work on. What waits is refused.
    pub fn end(&self) {
        let mut state = self.lock();
        state.is_ended = true;
        let jobs = std::mem::take(&mut state.jobs);
        state.turns.clear();
        state.metrics.waiting = 0;
        drop(state);
        self.work.notify_all();
        jobs.into_values().flatten().for_each(|job| job.ticket.answer(Err(TOO_MANY)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Vec<Task> {
        vec![Task::verify(b"x", b"x")]
    }

    fn owner(account: u64, address: u64) -> Owner {
        Owner { account, address }
    }

    /// Accounts of the jobs that can be begun now, none of which ends.
    fn begun(pool: &Pool) -> Vec<u64> {
        let mut state = pool.lock();
        std::iter::from_fn(|| state.next()).map(|job| job.owner.account).collect()
    }

    /// P8: fair by address.
    #[test]
    fn test_p8_addresses_have_turns_and_four_jobs_each() {
        let pool = Pool::default();
        let submit = |account, address| pool.submit(task(), owner(account, address), 0).unwrap();
        for account in 0..8 {
            submit(account, 1);
        }
        submit(100, 2);
        submit(200, 3);
        assert_eq!(
            begun(&pool),
            [0, 100, 200, 1, 2, 3],
            "the turns of the others come before its second job"
        );
        assert_eq!(pool.metrics().waiting, 4);
        pool.lock().ended(owner(0, 1));
        assert_eq!(begun(&pool), [4]);
    }

    /// P8: one job an account.
    #[test]
    fn test_p8_an_account_has_one_job_at_a_time_of_all_addresses() {
        let pool = Pool::default();
        for address in 1..4 {
            pool.submit(task(), owner(7, address), 0).unwrap();
        }
        pool.submit(task(), owner(8, 1), 0).unwrap();
        assert_eq!(begun(&pool), [7, 8]);
        pool.lock().ended(owner(7, 1));
        assert_eq!(begun(&pool), [7]);
    }

    /// P8: (51) beyond.
    #[test]
    fn test_p8_what_is_too_much_or_waits_too_long_is_refused() {
        let pool = Pool::default();
        let mut memory = Memory::default();
        let mut cx = Context::from_waker(Waker::noop());
        let tickets: Vec<_> =
            (0..PASSWORD_JOBS_MAX).map(|n| pool.submit(task(), owner(n, n), 0).unwrap()).collect();
        assert!(pool.submit(task(), owner(1, 1), 0).is_err());
        assert!(tickets[0].poll(&mut cx).is_pending());
        let job = pool.lock().next().unwrap();
        pool.work_on(job, PASSWORD_JOB_AGE_NS_MAX, &mut memory);
        let Poll::Ready(Ok(done)) = tickets[0].poll(&mut cx) else { panic!("it was done") };
        assert_eq!(done[0].verified(b"x", b"x"), Some(true));
        let job = pool.lock().next().unwrap();
        pool.work_on(job, PASSWORD_JOB_AGE_NS_MAX + 1, &mut memory);
        assert!(matches!(tickets[1].poll(&mut cx), Poll::Ready(Err(TOO_MANY))));
        let expected = PoolMetrics { waiting: PASSWORD_JOBS_MAX - 2, done: 1, refused: 2 };
        assert_eq!(pool.metrics(), expected);
        pool.end();
        assert!(matches!(tickets[2].poll(&mut cx), Poll::Ready(Err(TOO_MANY))), "nobody waits for ever");
        assert!(pool.wait().is_none() && pool.submit(task(), owner(1, 1), 0).is_err());
    }

    #[test]
    fn threads_do_all_jobs() {
        let pool = Pool::default();
        let serve = || pool.serve(|| 0);
        let submit = || {
            let tickets: Vec<_> =
                (0..100).map(|n| pool.submit(task(), owner(n % 7, n % 3), 0).unwrap()).collect();
            let mut cx = Context::from_waker(Waker::noop());
            for ticket in &tickets {
                let outcome = loop {
                    match ticket.poll(&mut cx) {
                        Poll::Ready(outcome) => break outcome,
                        Poll::Pending => std::hint::spin_loop(),
                    }
                };
                assert!(outcome.is_ok());
            }
            assert_eq!(pool.metrics().done, 100);
            pool.end();
        };
        env::task::run_with_workers(3, |_| serve(), submit);
    }
}
