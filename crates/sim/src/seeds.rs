//! Many worlds, from many seeds, on several threads.

use crate::cluster::Cluster;
use crate::plan::{PLANS, Plan};
use crate::workloads;
use crate::world::{Setting, Tally, Violation, World};
use env::memory;
use env::planted::{self, Fault};
use env::task;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What worlds are made of. What is not chosen follows from the seed, so that a range of seeds has all of it.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Name of a workload.
    pub workload: Option<String>,
    /// What goes wrong, and what it is called on a command line.
    pub plan: Option<(String, Plan)>,
    /// A fault that is injected.
    pub planted: Option<Fault>,
}

/// A world in which something does not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// What does not hold.
    pub violation: Violation,
    /// The command that shows it again.
    pub command: String,
}

impl Choice {
    /// The setting of a seed.
    ///
    /// # Panics
    /// When the workload that was chosen does not exist.
    pub fn setting(&self, seed: u64, is_shown: bool) -> Setting {
        let workloads = workloads::NAMES.len() as u64;
        let workload = workloads::NAMES[(seed % workloads) as usize];
        let (plan, _) = PLANS[(seed / workloads) as usize % PLANS.len()];
        let named = || Plan::named(plan).expect("it comes with the simulator");
        Setting {
            workload: self.workload.clone().unwrap_or_else(|| workload.to_owned()),
            plan: self.plan.as_ref().map_or_else(named, |(_, plan)| plan.clone()),
            is_shown,
        }
    }

    /// The world of a seed, from its beginning to its end, on this thread.
    ///
    /// # Errors
    /// The first property that does not hold.
    ///
    /// # Panics
    /// As [`Choice::setting`].
    pub fn run(&self, seed: u64, is_shown: bool) -> Result<(u64, Tally), Failure> {
        let setting = self.setting(seed, is_shown);
        let is_cluster = setting.plan.cluster.replicas_max > 0;
        let known = "the workload was looked at";
        let run = || match is_cluster {
            true => Cluster::new(seed, &setting).expect(known).run(),
            false => World::new(seed, &setting).expect(known).run(),
        };
        // A quarter of the time of a world went into zeros for them.
        memory::do_without_huge_pages();
        planted::plant(self.planted);
        let ran = panic::catch_unwind(AssertUnwindSafe(run));
        planted::plant(None);
        let ran = ran.unwrap_or_else(|_| {
            let what = "a thread panicked; its message is on standard error".to_owned();
            Err(Violation { property: "nothing panics", what })
        });
        ran.map_err(|violation| Failure { seed, violation, command: self.command(seed) })
    }

    /// The command that shows a seed again.
    pub fn command(&self, seed: u64) -> String {
        let mut command = format!("pando-sim --seed {seed}");
        let workload = self.workload.as_ref().map(|name| format!(" --workload {name}"));
        let plan = self.plan.as_ref().map(|(name, _)| format!(" --faults {name}"));
        let planted = self.planted.map(|fault| format!(" --planted {}", fault.0));
        [workload, plan, planted].into_iter().flatten().for_each(|part| command.push_str(&part));
        command
    }

    /// The worlds of many seeds on `jobs` threads. Returns what happened in all of them, and the failures, in the order of
    /// their seeds; after `failures_max` no more are begun. `on_done` is called for each world that is done, how many those are, and its failure.
    pub fn run_all(
        &self,
        seeds: Range<u64>,
        jobs: usize,
        failures_max: usize,
        on_done: &(dyn Fn(u64, Option<&Failure>) + Sync),
    ) -> (Tally, Vec<Failure>) {
        let (next, done) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
        let outcome = Mutex::new((Tally::default(), Vec::new()));
        let lock = || outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            while lock().1.len() < failures_max {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end {
                    return;
                }
                let ran = self.run(seed, false);
                on_done(done.fetch_add(1, Ordering::Relaxed) + 1, ran.as_ref().err());
                match ran {
                    Ok((_, tally)) => lock().0.add(&tally),
                    Err(failure) => lock().1.push(failure),
                }
            }
        };
        task::run_with_workers(jobs.saturating_sub(1), |_| work(), work);
        let (tally, mut failures) = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        failures.sort_unstable_by_key(|failure: &Failure| failure.seed);
        (tally, failures)
    }
}
