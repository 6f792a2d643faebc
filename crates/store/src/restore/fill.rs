//! Tags and ids into the tables: each table is filled by one job, so as many threads as there are tables work. A table has
//! one writer by design, and so no lock; the mutex around each sink is never waited for, it only says so to the compiler.
//!
//! Within a table the pairs come in the order of ids, whatever thread noted them: what was derived is in the order of jobs.

use super::derive::{CHILDREN, DN, Derived, INDEXES};
use super::sink::Sink;
use super::{Errors, RestoreError, Run};
use crate::cell::Garbage;
use crate::shard::{ReadPoint, Shard, WriterState};
use crate::sync::{Mutex, lock};

/// Every table of a shard, by where its pairs are.
pub(super) struct Sinks<'s> {
    shard: &'s Shard,
    all: Vec<Mutex<(Sink<'s>, Garbage)>>,
}

impl<'s> Sinks<'s> {
    /// A sink for each list of [`Derived`], at the same position.
    pub(super) fn new(shard: &'s Shard, state: &'s mut WriterState) -> Sinks<'s> {
        let mut all = Vec::new();
        all.resize_with(INDEXES, || Sink::Nothing);
        all[DN] = Sink::Table(&shard.dn_table, &mut state.dn);
        all[CHILDREN] = Sink::Postings(&shard.children, &mut state.children);
        let view = ReadPoint { shard, sequence: shard.readers.published() };
        all.extend(view.indexes().sinks(&mut state.indexes));
        Sinks { shard, all: all.into_iter().map(|sink| Mutex::new((sink, Garbage::default()))).collect() }
    }
}

/// Puts what was derived where it belongs.
pub(super) fn fill(
    sinks: &mut Sinks<'_>,
    derived: &[Mutex<Derived>],
    run: Run<'_>,
) -> Result<(), RestoreError> {
    let (shard, all, errors) = (sinks.shard, &sinks.all, Errors::default());
    // What was derived is lent to all jobs at once.
    let derived: Vec<_> = derived.iter().map(lock).collect();
    let pairs: Vec<&[Vec<(u32, u32)>]> = derived.iter().map(|made| &made.pairs[..]).collect();
    assert!(pairs.iter().all(|made| made.len() == all.len()), "there is a list for each table");
    run(all.len(), &|job| {
        let (sink, garbage) = &mut *lock(&all[job]);
        for made in &pairs {
            if sink.fill(&shard.readers, &made[job], garbage).is_err() {
                errors.note(job, RestoreError::too_little("the memory limit is less than the indexes need"));
            }
        }
        garbage.collect(&shard.readers);
        sink.no_reader_pins();
    });
    errors.none()
}
