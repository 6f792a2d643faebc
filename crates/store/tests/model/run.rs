//! A run: many operations on both, and comparisons between them.

use super::compare::{self, Differs};
use super::directory::{Directory, Op};
use super::generate::{self, Choices, Taste};
use super::indexes::{self, Indexes};
use model::ResultCode;
use std::collections::VecDeque;
use std::sync::Arc;
use store::search::evaluate::Evaluator;
use store::{DnCache, LongReadPoint, PreparedWrite, Reader, Shard};

/// How much and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) ops: usize,
    pub(crate) taste: Taste,
    /// Entries that the directory grows to.
    pub(crate) entries: usize,
    /// Operations between comparisons of the whole content.
    pub(crate) content_every: usize,
    /// Operations between searches.
    pub(crate) search_every: usize,
    /// Old read points kept.
    pub(crate) kept: usize,
    pub(crate) indexed: bool,
    /// Do indexes come and go meanwhile?
    pub(crate) changing: bool,
}

/// What a run has in hand.
struct Run<'c, C> {
    choices: &'c mut C,
    plan: Plan,
    shard: Arc<Shard>,
    reader: Reader,
    naive: Directory,
    kept: Vec<(LongReadPoint, Directory)>,
    cache: DnCache,
    evaluator: Evaluator,
    last: VecDeque<(ResultCode, Op)>,
    /// Prepared writes that were installed.
    installed: usize,
    indexes: Indexes,
}

/// Runs a plan. `Err` tells what differs, after which operations.
pub(crate) fn run<C: Choices>(choices: &mut C, plan: Plan) -> Differs {
    let shard = compare::shard(plan.indexed);
    let reader = compare::reader(&shard);
    let mut run = Run {
        choices,
        plan,
        shard,
        reader,
        naive: Directory::default(),
        kept: Vec::new(),
        cache: DnCache::default(),
        evaluator: Evaluator::default(),
        last: VecDeque::new(),
        installed: 0,
        indexes: Indexes::default(),
    };
    let mut done = 0;
    while done < plan.ops {
        let before = done;
        done += match run.batch() {
            Ok(count) => count,
            Err(text) => return Err(run.report(done, &text)),
        };
        if let Err(text) = run.look(before, done) {
            return Err(run.report(done, &text));
        }
    }
    if plan.ops > 1000 && run.installed == 0 {
        return Err(run.report(done, "no prepared write was ever installed"));
    }
    let (made, dropped) = (run.indexes.made, run.indexes.dropped);
    if plan.changing && plan.ops > 10_000 && (made < 3 || dropped < 3) {
        return Err(run.report(done, &format!("{made} indexes were made, {dropped} dropped")));
    }
    if plan.changing && plan.ops > 10_000 && run.indexes.verified < 3 {
        return Err(run.report(done, &format!("{} indexes were compared", run.indexes.verified)));
    }
    run.everything().map_err(|text| run.report(done, &text))
}

impl<C: Choices> Run<'_, C> {
    fn report(&self, done: usize, text: &str) -> String {
        let line = |(code, op): &(ResultCode, Op)| format!("{code}: {op:?}").chars().take(1500).collect();
        let last: Vec<String> = self.last.iter().map(line).collect();
        let cut: String = text.chars().take(4000).collect();
        format!("after {done} operations: {cut}\nthe last of them:\n{}", last.join("\n"))
    }

    fn note(&mut self, op: Op, code: ResultCode) {
        if self.last.len() == 12 {
            self.last.pop_front();
        }
        self.last.push_back((code, op));
    }

    /// One to four operations that become visible at once, and now and then some that were prepared before, with
    /// another batch between or not.
    fn batch(&mut self) -> Result<usize, String> {
        if !self.choices.one_in(3) {
            return self.write(Vec::new(), &mut []);
        }
        let mut prepared_writes = Vec::new();
        let prepared_write = self.prepared_write(&mut prepared_writes);
        let between = if self.choices.one_in(2) { self.write(Vec::new(), &mut [])? } else { 0 };
        if self.plan.changing && self.choices.one_in(2) {
            self.indexes.act(self.choices, &self.shard)?;
        }
        Ok(between + self.write(prepared_write, &mut prepared_writes)?)
    }

    /// Up to four replacements, prepared if they can be, of which several may be about the same entry.
    fn prepared_write(&mut self, prepared_writes: &mut Vec<u8>) -> Vec<(Op, Option<PreparedWrite>)> {
        let pin = self.reader.pin();
        self.cache.refresh(pin.read_point());
        let mut prepared_write = Vec::new();
        for _ in 0..1 + self.choices.below(4) {
            let op = generate::replacement(self.choices, &self.naive, &self.plan.taste);
            let ready = compare::prepared_write(pin.read_point(), &op, &mut self.cache, prepared_writes);
            prepared_write.push((op, ready));
        }
        prepared_write
    }

    /// A batch of operations of which some may be prepared.
    fn write(
        &mut self,
        prepared_write: Vec<(Op, Option<PreparedWrite>)>,
        prepared_writes: &mut [u8],
    ) -> Result<usize, String> {
        let shard = Arc::clone(&self.shard);
        let others = match (prepared_write.is_empty(), self.choices.one_in(3)) {
            (true, true) => 2 + self.choices.below(3),
            (true, false) => 1,
            (false, _) => self.choices.below(3),
        };
        let mut ops: Vec<Option<(Op, Option<PreparedWrite>)>> =
            prepared_write.into_iter().map(Some).collect();
        for _ in 0..others {
            ops.insert(self.choices.below(ops.len() + 1), None);
        }
        let mut writer = shard.writer();
        writer
            .reserve(prepared_writes.len())
            .map_err(|refused| format!("no room for prepared writes: {refused}"))?;
        for op in ops.iter_mut() {
            let (op, ready) = match op.take() {
                Some(prepared_write) => prepared_write,
                None => (generate::op(self.choices, &self.naive, &self.plan.taste, self.plan.entries), None),
            };
            let is_installed =
                ready.is_some_and(|ready| compare::install(&mut writer, &ready, prepared_writes));
            self.installed += usize::from(is_installed);
            let real = if is_installed { None } else { Some(compare::apply(&mut writer, &shard, &op)) };
            let naive = self.naive.apply(&op).err().unwrap_or(ResultCode::Success);
            let code = real.as_ref().map_or(ResultCode::Success, compare::code);
            self.note(op, naive);
            if code != naive {
                return Err(format!("the store says {code} ({real:?}), the model {naive}"));
            }
        }
        writer.publish();
        Ok(ops.len())
    }

    /// Compares what is due after the operations from `before` to `done`.
    fn look(&mut self, before: usize, done: usize) -> Differs {
        let every = |times: usize| before / times < done / times;
        if every(self.plan.search_every) {
            self.search_now()?;
        }
        if self.plan.changing && self.choices.one_in(3) {
            self.indexes.act(self.choices, &self.shard)?;
        }
        if self.plan.changing {
            self.indexes.verify(self.choices, &self.shard)?;
        }
        if every(self.plan.content_every) {
            indexes::check(&self.shard)?;
            let pin = self.reader.pin();
            compare::content(pin.read_point(), &self.naive, &mut self.cache, true)?;
        }
        if self.plan.kept > 0 && self.choices.one_in(150) {
            self.keep_or_release()?;
        }
        Ok(())
    }

    fn search_now(&mut self) -> Differs {
        let (top, scope) = (generate::some_name(self.choices, &self.naive), generate::scope(self.choices));
        let filter = generate::filter(self.choices, &self.plan.taste, 2);
        if !self.kept.is_empty() && self.choices.one_in(4) {
            let (old, naive) = &self.kept[self.choices.below(self.kept.len())];
            return compare::searches(old.read_point(), naive, &mut self.evaluator, &top, scope, &filter)
                .map_err(|text| format!("at an old read point: {text}"));
        }
        let pin = self.reader.pin();
        compare::searches(pin.read_point(), &self.naive, &mut self.evaluator, &top, scope, &filter)
    }

    /// Pins what is published now, or looks at what was pinned before and lets it go.
    fn keep_or_release(&mut self) -> Differs {
        if self.kept.len() < self.plan.kept {
            let long = self.reader.pin().look().extend().ok_or("too many readers")?;
            self.kept.push((long, self.naive.clone()));
            return Ok(());
        }
        let at = self.choices.below(self.kept.len());
        let (long, naive) = self.kept.swap_remove(at);
        compare::content(long.read_point(), &naive, &mut self.cache, false)
            .map_err(|text| format!("at an old read point: {text}"))
    }

    fn everything(&mut self) -> Differs {
        while let Some((long, naive)) = self.kept.pop() {
            compare::content(long.read_point(), &naive, &mut self.cache, false)?;
        }
        self.indexes.finish(&self.shard)?;
        indexes::check(&self.shard)?;
        let pin = self.reader.pin();
        compare::content(pin.read_point(), &self.naive, &mut self.cache, true)
    }
}
