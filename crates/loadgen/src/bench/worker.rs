//! One thread of a run: connect, bind, warm up, measure, wait for the last answers.

use super::answer::{Expected, Fault};
use super::connection::{ANSWER_MAX, Client};
use super::report::{CpuTimes, Part, Recorder};
use super::request::{Templates, bind};
use super::{BenchError, Length, Settings, Window};
use crate::random::Random;
use crate::wire::PAD;
use client::{ClientError, Link};
use env::clock::{Clock, SystemClock};
use env::poll::{Connection, Events, Interest, Poller, Progress};
use proto::message::Response;
use std::sync::Barrier;
use std::time::Duration;

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;
/// Seconds after which a bind that is not answered is given up.
const LOG_IN_S: u64 = 10;
/// A run ends when nothing was answered for so long.
const SILENCE_NS_MAX: u64 = 30_000_000_000;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    WarmUp,
    Measure,
    /// Nothing more is sent; the requests in progress are awaited.
    Drain,
}

struct Worker<'a> {
    settings: &'a Settings,
    templates: &'a Templates,
    expected: Expected,
    clock: SystemClock,
    poller: Poller,
    clients: Vec<Client>,
    random: Random,
    recorder: Recorder,
    stage: Stage,
    /// Operations that may still be sent while measuring.
    budget: u64,
    out: Vec<u8>,
    input: Vec<u8>,
    /// When the stage began.
    since_ns: u64,
    cpu: CpuTimes,
    /// The server's process, of which the first thread reads the CPU time.
    server_pid: Option<u32>,
    /// Nanoseconds between two bursts of a connection, with a rate.
    interval_ns: Option<u64>,
    spent: Option<(f64, CpuTimes)>,
}

/// What of `total` falls to thread `index` of `count`.
fn share(total: u64, index: usize, count: usize) -> u64 {
    total / count as u64 + u64::from((index as u64) < total % count as u64)
}

pub(super) fn run(
    settings: &Settings,
    templates: &Templates,
    index: usize,
    threads: usize,
    barrier: &Barrier,
    clock: SystemClock,
) -> Result<Part, BenchError> {
    let started = Worker::start(settings, templates, index, threads, clock);
    // Also after a failure, so that the others do not wait for ever.
    barrier.wait();
    let mut worker = started?;
    worker.work()?;
    Ok(worker.finish())
}

impl<'a> Worker<'a> {
    fn start(
        settings: &'a Settings,
        templates: &'a Templates,
        index: usize,
        threads: usize,
        clock: SystemClock,
    ) -> Result<Worker<'a>, BenchError> {
        let poller = Poller::new()?;
        let mut clients = Vec::new();
        for token in 0..share(settings.connections as u64, index, threads) {
            let connection = log_in(Connection::connect(&settings.host, settings.port)?, settings)?;
            poller.add(&connection, token, Interest::Read)?;
            clients.push(Client::new(connection, token, settings.queue, settings.workload));
        }
        let budget = match settings.length {
            Length::Time(_) => u64::MAX,
            Length::Operations(total) => share(total, index, threads),
        };
        let per_burst = (settings.queue * settings.connections) as f64 * 1e9;
        let expected = Expected::new(settings);
        Ok(Worker {
            settings,
            templates,
            expected: expected.ok_or(BenchError::Setting("the base or the key's format is too long"))?,
            clock,
            poller,
            clients,
            random: Random::for_item(settings.seed, 0xbe9c, index as u64),
            recorder: Recorder::new(),
            stage: Stage::WarmUp,
            budget,
            out: Vec::new(),
            input: vec![0; READ_BYTES + ANSWER_MAX + PAD],
            since_ns: 0,
            cpu: CpuTimes::default(),
            server_pid: settings.server_pid.filter(|_| index == 0),
            interval_ns: settings.rate.map(|rate| (per_burst / rate) as u64),
            spent: None,
        })
    }

    fn work(&mut self) -> Result<(), BenchError> {
        let mut events = Events::with_capacity(self.clients.len().clamp(1, 1024));
        let mut now = self.clock.monotonic_ns();
        let mut last_answer = now;
        self.since_ns = now;
        self.first_bursts(now);
        while !(self.stage == Stage::Drain && self.clients.iter().all(|c| c.closed || c.active == 0)) {
            let timeout = self.pause_before_next(now);
            self.poller.wait(&mut events, Some(timeout))?;
            let mut any = false;
            for event in events.iter() {
                let index = event.token as usize;
                if event.writable {
                    self.clients[index].socket.flush(&self.poller);
                }
                if event.readable && !self.clients[index].closed {
                    any = true;
                    now = self.read(index);
                    self.next_stage(now);
                    self.refill(index, now);
                }
            }
            if !any {
                now = self.clock.monotonic_ns();
                self.next_stage(now);
            } else {
                last_answer = now;
            }
            self.due_bursts(now);
            if now - last_answer > SILENCE_NS_MAX && self.clients.iter().any(|c| c.active > 0)
                || self.clients.iter().all(|client| client.closed)
            {
                self.end(now);
                return Ok(());
            }
        }
        Ok(())
    }

    fn first_bursts(&mut self, now: u64) {
        self.next_stage(now);
        let count = self.clients.len() as u64;
        for index in 0..self.clients.len() {
            match self.interval_ns {
                // Spread over the first interval.
                Some(interval) => self.clients[index].due_ns = now + interval * index as u64 / count,
                None => self.refill(index, now),
            }
        }
    }

    /// Moves on from warm-up to measurement to the end when it is time.
    fn next_stage(&mut self, now: u64) {
        let passed = Duration::from_nanos(now - self.since_ns);
        if self.stage == Stage::WarmUp && passed >= self.settings.warmup {
            self.stage = Stage::Measure;
            self.since_ns = now;
            self.recorder.measuring = true;
            self.cpu = CpuTimes::read(self.server_pid);
        } else if self.stage == Stage::Measure {
            self.recorder.passed(passed.as_secs());
            let over = match self.settings.length {
                Length::Time(time) => passed >= time,
                Length::Operations(_) => self.budget == 0 && self.clients.iter().all(Client::is_done),
            };
            if over {
                self.end(now);
            }
        }
    }

    fn end(&mut self, now: u64) {
        if self.stage == Stage::Measure {
            let spent = CpuTimes::read(self.server_pid).since(self.cpu);
            self.spent = Some(((now - self.since_ns) as f64 / 1e9, spent));
        }
        self.recorder.measuring = false;
        self.stage = Stage::Drain;
    }

    /// How long to wait for answers before there is something else to do.
    fn pause_before_next(&self, now: u64) -> Duration {
        const LOOK_AROUND: u64 = 50_000_000;
        let Some(_) = self.interval_ns else { return Duration::from_nanos(LOOK_AROUND) };
        let idle = self.clients.iter().filter(|client| client.active == 0 && !client.closed);
        let due = idle.map(|client| client.due_ns.saturating_sub(now)).min().unwrap_or(LOOK_AROUND);
        // The kernel's waits have milliseconds: below one, look again at once.
        Duration::from_millis(due.min(LOOK_AROUND) / 1_000_000)
    }

    /// Reads once and checks what came. Returns the time of the read.
    fn read(&mut self, index: usize) -> u64 {
        let client = &mut self.clients[index];
        let kept = client.rest.len();
        self.input[..kept].copy_from_slice(&client.rest);
        let result = client.socket.connection.read(&mut self.input[kept..kept + READ_BYTES]);
        let now = self.clock.monotonic_ns();
        let fault = match result {
            Progress::Later => return now,
            Progress::Closed => Some(Fault::Closed),
            Progress::Bytes(bytes) => {
                let end = kept + bytes;
                match client.receive(&self.input, end, &self.expected, now, &mut self.recorder) {
                    Err(fault) => Some(fault),
                    Ok(used) if end - used > ANSWER_MAX => Some(Fault::Malformed),
                    Ok(used) => {
                        client.rest.clear();
                        client.rest.extend_from_slice(&self.input[used..end]);
                        None
                    }
                }
            }
        };
        if let Some(fault) = fault {
            self.recorder.faults.add(fault);
            client.closed = true;
            // A closed socket would be reported for ever.
            let _ = self.poller.remove(&client.socket.connection);
        }
        now
    }

    /// Sends what the window allows.
    fn refill(&mut self, index: usize, now: u64) {
        let client = &self.clients[index];
        let waits = self.settings.window == Window::Burst && client.active > 0;
        if self.stage == Stage::Drain || waits {
            return;
        }
        match self.interval_ns {
            None => {
                self.send(index, now);
            }
            Some(_) => self.due_burst(index, now),
        }
    }

    fn due_bursts(&mut self, now: u64) {
        if self.interval_ns.is_some() && self.stage != Stage::Drain {
            for index in 0..self.clients.len() {
                if self.clients[index].active == 0 {
                    self.due_burst(index, now);
                }
            }
        }
    }

    fn due_burst(&mut self, index: usize, now: u64) {
        let due = self.clients[index].due_ns;
        if due <= now {
            // The start and the end of a transaction are no burst of their own.
            if self.send(index, due) > 0 || self.clients[index].active == 0 {
                self.clients[index].due_ns = due + self.interval_ns.unwrap_or(0);
            }
        }
    }

    /// Returns how many operations were sent that count.
    fn send(&mut self, index: usize, sent_ns: u64) -> u64 {
        let limit = if self.stage == Stage::Measure { self.budget } else { u64::MAX };
        let client = &mut self.clients[index];
        let sent = client.send(self.templates, &mut self.random, sent_ns, limit, &mut self.out, &self.poller);
        if self.stage == Stage::Measure {
            self.budget = self.budget.saturating_sub(sent);
        }
        sent
    }

    fn finish(mut self) -> Part {
        self.clients.iter_mut().for_each(Client::unbind);
        let lost: usize = self.clients.iter().map(|client| client.active).sum();
        self.recorder.faults.add_many(Fault::Lost, lost as u64);
        let (seconds, spent) = self.spent.unwrap_or_default();
        assert!(
            seconds > 0.0 || self.recorder.operations() == 0,
            "operations are counted while time is measured"
        );
        Part { recorder: self.recorder, seconds, cpu: spent }
    }
}

/// The first bind of a connection, if one is wanted.
fn log_in(connection: Connection, settings: &Settings) -> Result<Connection, BenchError> {
    let queue_length = settings.queue_length_control.then_some(settings.queue as u32);
    let (name, password) = match &settings.credentials {
        Some((name, password)) => (&name[..], &password[..]),
        None if queue_length.is_some() => ("", ""),
        None => return Ok(connection),
    };
    let mut link = Link::over(connection, LOG_IN_S)?;
    let id = link.push(|out, id| bind(out, id, name.as_bytes(), password.as_bytes(), queue_length));
    let answered = link.receive(|reply| match reply.response {
        Response::Bind(response) if reply.id == id => Some(response.result.code),
        _ => None,
    });
    match answered {
        Ok(Some(0)) => Ok(link.into_connection()),
        Ok(Some(code)) => Err(BenchError::Bind(u8::try_from(code).ok())),
        Err(ClientError::Io(error)) => Err(error.into()),
        Ok(None) | Err(_) => Err(BenchError::Bind(None)),
    }
}
