//! What an import leaves in the log (`Committer::note_import`) finds room there, also where nobody prepares log files: an
//! import has no threads that do.

use sim::disk::SimDisk;
use sim::node::recover;
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_note_goes_on_in_the_next_log_file() {
    let disk = SimDisk::new(1);
    let log = wal::Settings { file_bytes: 16 << 10, waiting_bytes_max: 8 << 10, ..wal::Settings::default() };
    let mut last = 0;
    for life in 0..4 {
        let (_data, recovered) =
            recover(Arc::new(disk.clone()), Path::new("/d"), log, None, life).expect("it is sound");
        let mut committer = recovered.committer;
        assert_eq!(committer.applied().0, last, "notes are kept");
        // A block of 512 bytes each: several files of 12 KiB for blocks.
        for _ in 0..60 {
            committer.note_import(1_800_000_000_000).expect("there is room");
        }
        last += 60;
        assert_eq!(committer.applied().0, last);
        committer.close(0, 0).expect("nothing fails");
    }
}
