//! LDIF into an empty directory, before the first client is served: one thread reads and cuts, the other checks and
//! stores. A fault does not end the import at once, so that a file can be mended in few rounds.

use crate::config::Fault;
use env::task;
use model::Entry;
use proto::ldif::{Body, Lines, Record, Stream, StreamError, Value};
use schema::Schema;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use store::{Add, Shard, Stamp};

/// Faults after which an import gives up.
const FAULTS_MAX: usize = 20;
/// Entries handed from thread to thread at once.
const BATCH_ENTRIES: usize = 512;
/// Bytes of LDIF after which a batch is handed over though it has fewer entries.
const BATCH_BYTES: u64 = 1 << 20;
/// Batches under way between the threads.
const BATCHES: usize = 4;
/// Bytes asked of the file at once.
const READ_BYTES: usize = 1 << 20;

/// How far an import is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries stored.
    pub entries: u64,
    /// Bytes of LDIF they were.
    pub bytes: u64,
}

/// Loads the LDIF of `input`, called `file` in faults, into `shard`. Only entries may be in it, no changes; operational
/// attributes are kept as they stand. `on_progress` is told now and then.
///
/// # Errors
/// All faults up to a bound. What was stored before stays stored: the caller throws the directory away.
pub fn import(
    shard: &Shard,
    schema: &Schema,
    file: &str,
    input: impl Read + Send,
    now_ms: u64,
    mut on_progress: impl FnMut(Progress),
) -> Result<Progress, Vec<Fault>> {
    let (full, batches) = sync_channel(BATCHES);
    let (recycled, empty) = sync_channel(BATCHES + 1);
    for _ in 0..BATCHES {
        let _ = recycled.send(Batch::default());
    }
    let mut progress = Progress::default();
    let mut faults = Vec::new();
    let mut storing = |(batches, recycled): (Receiver<Batch>, SyncSender<Batch>)| {
        for mut batch in batches {
            store(shard, &mut batch, now_ms, &mut progress);
            faults.append(&mut batch.faults);
            if faults.len() >= FAULTS_MAX {
                break;
            }
            on_progress(progress);
            // The reader that has ended needs no empty batch.
            let _ = recycled.send(batch);
        }
    };
    task::run_beside(
        // Moved in: the channel closes when the reader ends, and that ends the storing side.
        move || read(schema, input, full, empty),
        // Both ends are dropped when it returns, and that ends a reader that is still at it.
        || storing((batches, recycled)),
    );
    if faults.is_empty() {
        return Ok(progress);
    }
    faults.sort_by_key(|(line, _)| *line);
    faults.truncate(FAULTS_MAX);
    let fault = |(line, message): (u64, String)| Fault {
        file: Some(file.to_owned()),
        place: (line != 0).then_some((line as usize, 1)),
        message,
    };
    Err(faults.into_iter().map(fault).collect())
}

/// Entries on their way to the store; its memory is used again.
#[derive(Default)]
struct Batch {
    items: Vec<Item>,
    used: usize,
    names: Vec<u8>,
    bytes: u64,
    /// Line, 0 for none, and what is wrong.
    faults: Vec<(u64, String)>,
}

#[derive(Default)]
struct Item {
    line: u64,
    name: Range<usize>,
    entry: Entry,
}

impl Batch {
    fn clear(&mut self) {
        self.used = 0;
        self.names.clear();
        self.bytes = 0;
    }

    /// Takes an entry over; on a fault, its line and what it is.
    fn push(&mut self, record: &Record<'_>, schema: &Schema) -> Result<(), (u64, String)> {
        let lines = match record.body {
            Body::Content(lines) | Body::Add(lines) => lines,
            _ => return Err((record.line, "a change; only entries can be imported".to_owned())),
        };
        if self.used == self.items.len() {
            self.items.push(Item::default());
        }
        let item = &mut self.items[self.used];
        item.entry = std::mem::take(&mut item.entry).into_cleared();
        fill(&mut item.entry, lines, schema)?;
        let start = self.names.len();
        self.names.extend_from_slice(record.dn);
        item.name = start..self.names.len();
        item.line = record.line;
        self.used += 1;
        Ok(())
    }
}

/// Puts the lines of a record into an entry.
fn fill(entry: &mut Entry, lines: Lines<'_>, schema: &Schema) -> Result<(), (u64, String)> {
    let mut last: &[u8] = b"";
    for line in lines.iter() {
        let Value::Bytes(value) = line.value else {
            return Err((
                line.line,
                "a value elsewhere (`:<`) is not read; put it here in base64".to_owned(),
            ));
        };
        if line.description == last {
            entry.push_value(value);
            continue;
        }
        let show = || String::from_utf8_lossy(line.description).into_owned();
        let description = schema.intern_description(line.description);
        let description = description.map_err(|error| (line.line, format!("`{}`: {error}", show())))?;
        // Values of an attribute that come apart are rare, and put together the slow way.
        if entry.position(description).is_some() {
            entry.extend(description, [value]);
            last = b"";
        } else {
            entry.push_attribute(description);
            entry.push_value(value);
            last = line.description;
        }
    }
    Ok(())
}

/// The reading thread: cuts the input into records and fills batches.
fn read(schema: &Schema, mut input: impl Read, full: SyncSender<Batch>, empty: Receiver<Batch>) {
    let mut stream = Stream::new(move |buffer: &mut Vec<u8>| -> io::Result<usize> {
        let start = buffer.len();
        buffer.resize(start + READ_BYTES, 0);
        let read = input.read(&mut buffer[start..]);
        buffer.truncate(start + *read.as_ref().unwrap_or(&0));
        read
    });
    let mut is_last = false;
    while !is_last {
        let Ok(mut batch) = empty.recv() else { return };
        batch.clear();
        let start = stream.consumed();
        while batch.used < BATCH_ENTRIES && stream.consumed() - start < BATCH_BYTES && !is_last {
            let pushed = match stream.next_record() {
                Ok(Some(record)) => batch.push(&record, schema),
                Ok(None) => {
                    is_last = true;
                    Ok(())
                }
                Err(StreamError::Ldif(error)) => Err((error.line, error.reason.to_owned())),
                Err(StreamError::Source(error)) => {
                    is_last = true;
                    Err((0, format!("cannot be read: {error}")))
                }
            };
            if let Err(fault) = pushed {
                batch.faults.push(fault);
                is_last |= batch.faults.len() >= FAULTS_MAX;
            }
        }
        batch.bytes = stream.consumed() - start;
        if full.send(batch).is_err() {
            return;
        }
    }
}

/// Stores a batch; faults go where the reader's are.
fn store(shard: &Shard, batch: &mut Batch, now_ms: u64, progress: &mut Progress) {
    let mut writer = shard.writer();
    writer.load();
    for item in &mut batch.items[..batch.used] {
        let dn = &batch.names[item.name.clone()];
        let stamp = Stamp { csn: writer.stamp(now_ms), actor: 0 };
        let add = Add { dn, entry: &mut item.entry, keep_operational: true };
        match writer.add(add, stamp) {
            Ok(_) => progress.entries += 1,
            Err(refused) => {
                batch.faults.push((item.line, format!("{}: {refused}", String::from_utf8_lossy(dn))))
            }
        }
        if batch.faults.len() >= FAULTS_MAX {
            break;
        }
    }
    writer.publish();
    progress.bytes += batch.bytes;
}

#[cfg(test)]
mod tests;
