//! Whether a file is another one than it was.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What tells that a file is another one, or has other content: device, inode, size, time of the last change. All zero if it is not there.
pub type Stamp = [u64; 5];

/// Follows symbolic links: a folder that is swapped by one brings other files.
pub fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path);
    metadata.map_or([0; 5], |m| [m.dev(), m.ino(), m.size(), m.mtime() as u64, m.mtime_nsec() as u64])
}
