//! How fast the log takes records and gives them back: `append DIR MODE THREADS BATCH SECONDS`, mode `always`, `none` or
//! milliseconds. Each thread appends BATCH records of 80 bytes, waits until they are safe, and goes on.

use env::clock::{Clock as _, SystemClock};
use env::disk::RealDisk;
use env::entropy::SystemEntropy;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use wal::{Index, Kind, Mode, Refused, Settings, Syncer};

fn main() {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().expect("append DIR MODE THREADS BATCH SECONDS");
    let dir = PathBuf::from(next());
    let mode = match &*next() {
        "always" => Mode::Always,
        "none" => Mode::None,
        ms => Mode::Interval { ms: ms.parse().expect("milliseconds") },
    };
    let (threads, batch): (usize, u64) = (next().parse().expect("threads"), next().parse().expect("batch"));
    let seconds: u64 = next().parse().expect("seconds");
    let clock = SystemClock::start();
    let settings = Settings { mode, ..Settings::default() };
    let opened = wal::open(Arc::new(RealDisk), &dir, settings, &mut SystemEntropy, Index(0), &mut |_| Ok(()))
        .expect("opens");
    let log = opened.log.clone();
    let moved = Arc::new((Mutex::new(()), Condvar::new()));
    let steps = Arc::new(AtomicU64::new(0));
    let syncer = {
        let (moved, steps) = (moved.clone(), steps.clone());
        let on_progress = move |_| {
            steps.fetch_add(1, Ordering::Relaxed);
            drop(moved.0.lock().expect("no panic"));
            moved.1.notify_all();
        };
        Syncer::start(opened.writer, clock, on_progress).expect("threads")
    };
    let (begin, end) = (clock.monotonic_ns(), clock.monotonic_ns() + seconds * 1_000_000_000);
    let count = AtomicU64::new(0);
    let worker = |_| {
        while clock.monotonic_ns() < end {
            let mut last = Index(0);
            let mut guard = log.batch();
            for _ in 0..batch {
                match guard.append(Kind::Commands, |out| out.extend_from_slice(&[7; 80])) {
                    Ok(index) => last = index,
                    Err(Refused::Full) => break,
                    Err(refused) => panic!("{refused}"),
                }
                count.fetch_add(1, Ordering::Relaxed);
            }
            drop(guard);
            let mut waiting = moved.0.lock().expect("no panic");
            while log.safe() < last {
                waiting = moved.1.wait(waiting).expect("no panic");
            }
        }
    };
    env::task::run_with_workers(threads, worker, || ());
    let taken = (clock.monotonic_ns() - begin) as f64 / 1e9;
    let (count, steps) = (count.into_inner() as f64, steps.load(Ordering::Relaxed) as f64);
    println!(
        "{:.0} records/s, {:.0} blocks/s, {:.0} records to a block",
        count / taken,
        steps / taken,
        count / steps
    );
    syncer.stop().expect("the log is sound");
    let begin = clock.monotonic_ns();
    let mut read = 0u64;
    wal::read(&RealDisk, &dir, &mut |_| {
        read += 1;
        Ok(())
    })
    .expect("reads");
    println!("{:.0} records/s read again", read as f64 / ((clock.monotonic_ns() - begin) as f64 / 1e9));
}
