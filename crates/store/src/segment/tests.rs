use super::*;
use std::collections::BTreeMap;

fn payload(n: u64) -> Vec<u8> {
    let len = (n * 7919 % 300) as usize;
    (0..len).map(|i| (n as usize + i) as u8).collect()
}

/// Objects with ids from 1 to 20,000, published with sequence 1.
fn filled() -> (Readers, Heap, HeapWriter) {
    let readers = Readers::new();
    let (heap, mut w) = Heap::create(1 << 30, 1 << 18, true).unwrap();
    for n in 1..=20_000u64 {
        let id = w.ids.allocate().unwrap();
        heap.put(&mut w, id, 0, 1, &payload(n));
    }
    readers.publish(1);
    (readers, heap, w)
}

#[test]
fn versions_are_seen_by_their_readers() {
    let readers = Readers::new();
    let (heap, mut w) = Heap::create(64 << 20, 1 << 16, true).unwrap();
    let id = w.ids.allocate().unwrap();
    heap.put(&mut w, id, 16, 1, b"one");
    heap.put(&mut w, id, 16, 2, b"two");
    heap.put_removed(&mut w, id, 3);
    readers.publish(3);
    assert!(heap.read(id, 0).is_none());
    assert_eq!(heap.read(id, 1).unwrap().payload, b"one");
    assert_eq!(heap.read(id, 2).unwrap().payload, b"two");
    assert!(heap.read(id, 3).is_none());
    heap.forget(&mut w, id);
    w.ids.free(id);
    assert_eq!(w.ids.allocate().unwrap(), id);
}

#[test]
fn long_objects_take_runs() {
    let (heap, mut w) = Heap::create(64 << 20, 1 << 16, true).unwrap();
    let big = vec![7; 5 << 20];
    for n in 0..3 {
        let id = w.ids.allocate().unwrap();
        heap.put(&mut w, id, 0, n, &big);
        assert_eq!(heap.read(id, 9).unwrap().payload, &big[..]);
    }
}

#[test]
fn cleaning_keeps_content_and_frees_segments() {
    let readers = Readers::new();
    let (heap, mut w) = Heap::create(1 << 30, 1 << 18, true).unwrap();
    let mut model = BTreeMap::new();
    for _ in 0..100_000u64 {
        let id = w.ids.allocate().unwrap();
        heap.put(&mut w, id, 0, 0, &payload(u64::from(id)));
        model.insert(id, u64::from(id));
    }
    let before = w.bytes_used();
    let mut sequence = 0;
    for round in 1..2_000_000u64 {
        let id = (round * 2_654_435_761 % 100_000) as u32 + 1;
        sequence += 1;
        heap.put(&mut w, id, 0, sequence, &payload(round));
        model.insert(id, round);
        readers.publish(sequence);
        if round % 100 == 0 {
            heap.clean(&mut w, &readers, 10, 256 << 10);
        }
    }
    for (id, n) in &model {
        assert_eq!(heap.read(*id, sequence).unwrap().payload, &payload(*n)[..]);
    }
    let after = w.bytes_used();
    assert!(after < before + before * 2 / 5 + (16 << 20), "{before} grew to {after}");
}

#[test]
fn a_pinned_reader_keeps_what_it_sees() {
    let (readers, heap, mut w) = filled();
    let slot = readers.register().unwrap();
    let pinned = readers.pin(slot);
    for sequence in 2..=100u64 {
        for id in 1..=20_000 {
            heap.put(&mut w, id, 0, sequence, &payload(sequence));
        }
        readers.publish(sequence);
        heap.clean(&mut w, &readers, 10, 4 << 20);
    }
    for id in 1..=20_000u32 {
        assert_eq!(heap.read(id, pinned).unwrap().payload, &payload(u64::from(id))[..]);
        assert_eq!(heap.read(id, 100).unwrap().payload, &payload(100)[..]);
    }
    let held = w.bytes_used();
    readers.unregister(slot);
    for sequence in 101..110 {
        readers.publish(sequence);
        heap.clean(&mut w, &readers, 10, 1 << 30);
    }
    assert!(w.bytes_used() < held / 4, "{held} shrank to {}", w.bytes_used());
}

#[test]
fn room_is_refused_before_it_is_missing() {
    let readers = Readers::new();
    let (heap, mut w) = Heap::create(1, 1, true).unwrap();
    let mut written = 0;
    while heap.claim(&mut w, &readers, 1000).is_ok() {
        let id = w.ids.allocate().unwrap();
        heap.put(&mut w, id, 0, 0, &[1; 1000]);
        written += 1000;
    }
    assert!(written > 8 * SEGMENT, "{written}");
}

#[test]
fn free_segments_go_back_to_the_kernel_and_come_again() {
    let (readers, heap, mut w) = filled();
    let mut sequence = 1;
    let mut rounds = |w: &mut HeapWriter, count: u64| {
        for _ in 0..count {
            sequence += 1;
            (1..=20_000).for_each(|id| heap.put(w, id, 0, sequence, &payload(sequence + u64::from(id))));
            readers.publish(sequence);
        }
        for _ in 0..2 {
            sequence += 1;
            readers.publish(sequence);
            heap.clean_well(w, &readers, 1 << 30);
        }
        sequence
    };
    rounds(&mut w, 60);
    assert_eq!(heap.release_free(&mut w, &readers), 0, "nobody knows yet that they are idle");
    let free = w.free.len();
    assert!(free > 40, "{free}");
    let mut released = 0;
    while let more @ 1.. = heap.release_free(&mut w, &readers) {
        released += more;
    }
    assert_eq!(released, free - 16);
    let last = rounds(&mut w, 60);
    for id in 1..=20_000u32 {
        let written = last - 2;
        assert_eq!(heap.read(id, last).unwrap().payload, &payload(written + u64::from(id))[..]);
    }
}

#[test]
fn freed_runs_are_used_again() {
    let readers = Readers::new();
    let (heap, mut w) = Heap::create(64 << 20, 1, true).unwrap();
    let id = w.ids.allocate().unwrap();
    for sequence in 1..200u64 {
        let big = vec![sequence as u8; 3 << 20];
        heap.claim(&mut w, &readers, big.len()).expect("what was replaced is room again");
        heap.put(&mut w, id, 0, sequence, &big);
        readers.publish(sequence);
        heap.clean(&mut w, &readers, 10, 8 << 20);
        assert_eq!(heap.read(id, sequence).unwrap().payload, &big[..]);
    }
}

/// The prepared write of an object's next version.
fn prepared_write(id: u32, older: Place, payload: &[u8]) -> Vec<u8> {
    let header = prepared_header(id, 16, older, payload.len()).expect("it is short");
    [&header[..], payload].concat()
}

#[test]
fn a_prepared_write_is_the_next_version() {
    let (heap, mut w) = Heap::create(64 << 20, 1 << 16, true).unwrap();
    let id = w.ids.allocate().unwrap();
    heap.put(&mut w, id, 0, 1, b"one");
    let (object, place) = heap.newest(id, 1).unwrap();
    assert_eq!((object.flags & 16, object.payload), (0, &b"one"[..]));
    assert!(heap.newest(id, 0).is_none(), "a version of later is not to be seen");
    let live = w.bytes_live();
    assert!(heap.put_prepared(&mut w, id, place, &mut prepared_write(id, place, b"three"), 2));
    assert_eq!(w.bytes_live(), live + 2, "the old version is dead");
    assert_eq!(heap.read(id, 1).unwrap().payload, b"one");
    let new = heap.read(id, 2).unwrap();
    assert_eq!((new.flags & 16, new.payload), (16, &b"three"[..]));
    assert!(
        !heap.put_prepared(&mut w, id, place, &mut prepared_write(id, place, b"again"), 2),
        "it is prepared from the first"
    );
    assert_eq!(heap.read(id, 2).unwrap().payload, b"three");
    assert!(
        prepared_header(id, 0, place, usize::from(u16::MAX)).is_none(),
        "a long object cannot be prepared"
    );
}

/// The version that it was prepared from died, its segment was begun anew, and another version of the same object came
/// to lie at the same address.
#[test]
fn a_prepared_write_from_an_address_that_was_written_again_is_refused() {
    let readers = Readers::new();
    let (heap, mut w) = Heap::create(64 << 20, 1 << 16, true).unwrap();
    let id = w.ids.allocate().unwrap();
    heap.put(&mut w, id, 0, 1, &[1; 1000]);
    let (_, place) = heap.newest(id, 1).unwrap();
    let mut sequence = 1;
    let again = loop {
        sequence += 1;
        heap.put(&mut w, id, 0, sequence, &[(sequence % 251) as u8; 1000]);
        readers.publish(sequence);
        let (object, now) = heap.newest(id, sequence).unwrap();
        if now.address == place.address {
            break object.payload.to_vec();
        }
        if sequence % 1000 == 0 {
            heap.clean(&mut w, &readers, 0, 8 << 20);
        }
        assert!(sequence < 1_000_000, "addresses come again");
    };
    assert!(!heap.put_prepared(&mut w, id, place, &mut prepared_write(id, place, b"lost"), sequence + 1));
    assert_eq!(heap.read(id, sequence + 1).unwrap().payload, &again[..]);
}

/// Once the addresses are known, what was frozen stays as it was, though no reader pins, and nothing written later is kept.
#[test]
fn frozen_parts_are_held_and_nothing_else() {
    let (readers, heap, mut w) = filled();
    let frozen = heap.freeze(&w);
    heap.stop_linking();
    let copies: Vec<Vec<u8>> = frozen.parts.iter().map(|part| heap.part_bytes(part).to_vec()).collect();
    let before = w.bytes_used();
    let rounds = |w: &mut HeapWriter, sequences: std::ops::Range<u64>| {
        for sequence in sequences {
            for id in 1..=20_000 {
                heap.put(w, id, 0, sequence, &payload(sequence + u64::from(id)));
            }
            readers.publish(sequence);
            heap.clean(w, &readers, 10, 64 << 20);
        }
    };
    rounds(&mut w, 2..60);
    // Of all that was written not a tenth is still there.
    assert!(w.bytes_used() < before + 16 * SEGMENT as u64, "{before} grew to {}", w.bytes_used());
    for (part, copy) in frozen.parts.iter().zip(&copies) {
        assert!(heap.part_bytes(part) == copy, "segment {}", part.number);
        heap.release(part);
    }
    rounds(&mut w, 60..80);
    assert!(w.held.is_empty());
    assert!(
        frozen.parts.iter().zip(&copies).any(|(part, copy)| heap.part_bytes(part) != copy),
        "they are used again"
    );
}
