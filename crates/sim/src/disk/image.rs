//! One file of the simulated disk: what is seen, what is durable, and the writes between them.

use env::disk::SECTOR;
use env::entropy::{Entropy as _, SeededEntropy};

#[derive(Clone, Debug)]
enum Write {
    Bytes { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    seen: Vec<u8>,
    durable: Vec<u8>,
    writes: Vec<Write>,
}

impl Image {
    pub(crate) fn durable(bytes: Vec<u8>) -> Image {
        Image { seen: bytes.clone(), durable: bytes, writes: Vec::new() }
    }

    pub(crate) fn seen(&self) -> &[u8] {
        &self.seen
    }

    /// Bytes of the disk that it uses.
    pub(crate) fn claimed(&self) -> u64 {
        self.seen.len() as u64
    }

    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        put(&mut self.seen, offset, bytes);
        self.writes.push(Write::Bytes { offset, bytes: bytes.to_vec() });
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.seen.resize(len, 0);
        self.writes.push(Write::Length(len));
    }

    pub(crate) fn sync_all(&mut self) {
        self.sync(self.writes.len());
    }

    /// The first `count` writes that wait become durable.
    pub(crate) fn sync(&mut self, count: usize) {
        for write in self.writes.drain(..count) {
            match write {
                Write::Bytes { offset, bytes } => put(&mut self.durable, offset, &bytes),
                Write::Length(len) => self.durable.resize(len, 0),
            }
        }
    }

    /// Some of it becomes durable; the rest counts as written though it is not.
    pub(crate) fn fail_sync(&mut self, entropy: &mut SeededEntropy) {
        let kept_of_16 = entropy.next_u64() % 17;
        self.keep_some(entropy, kept_of_16);
    }

    /// Some of it becomes durable; the rest is gone.
    pub(crate) fn lose_power(&mut self, entropy: &mut SeededEntropy, kept_of_16: u64) {
        self.keep_some(entropy, kept_of_16);
        self.seen.clone_from(&self.durable);
    }

    /// Makes each sector of each write durable or not, on its own.
    fn keep_some(&mut self, entropy: &mut SeededEntropy, kept_of_16: u64) {
        let mut kept = || entropy.next_u64() % 16 < kept_of_16;
        for write in self.writes.drain(..) {
            match write {
                Write::Length(len) if kept() => self.durable.resize(len, 0),
                Write::Length(_) => {}
                Write::Bytes { offset, bytes } => {
                    let mut at = 0;
                    while at < bytes.len() {
                        let until = ((offset + at) / SECTOR + 1) * SECTOR - offset;
                        let until = until.min(bytes.len());
                        if kept() {
                            put(&mut self.durable, offset + at, &bytes[at..until]);
                        }
                        at = until;
                    }
                }
            }
        }
    }

    /// Says whether there is such a byte in what is seen.
    pub(crate) fn flip_bit(&mut self, offset: usize, bit: u8) -> bool {
        for bytes in [&mut self.seen, &mut self.durable] {
            bytes.get_mut(offset).into_iter().for_each(|byte| *byte ^= 1 << (bit % 8));
        }
        offset < self.seen.len()
    }
}

fn put(image: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if image.len() < offset + bytes.len() {
        image.resize(offset + bytes.len(), 0);
    }
    image[offset..offset + bytes.len()].copy_from_slice(bytes);
}
