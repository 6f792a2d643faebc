//! `pando init`: the first configuration of a server, with what it needs beside it.
//!
//! It asks what nobody can guess, which is three things at most, and writes files that are safe to be served as they are. Nothing that is there is
//! ever replaced: a second run is refused.

mod answers;
mod args;
mod certificate;
mod files;

use self::answers::{Answers, Root};
pub(crate) use self::args::Args;
use crate::failed::Failed;
use crate::output::{note, print};
use env::disk::{Disk, RealDisk};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let answers = Answers::of(args)?;
    let contents = files::all(&answers, args)?;
    // Looked at before the first is written, so that a refusal leaves nothing behind.
    let there: Vec<String> = contents
        .iter()
        .map(|file| args.dir.join(file.name))
        .filter(|path| fs::symlink_metadata(path).is_ok())
        .map(|path| format!("{}: it is there already, and nothing is replaced", path.display()))
        .collect();
    Failed::all(there).if_any()?;
    // One that is made is nobody else's: the directory will be in it.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&args.dir);
    made.map_err(|error| Failed::at(args.dir.display(), error))?;
    for (at, file) in contents.iter().enumerate() {
        let path = args.dir.join(file.name);
        if let Err(error) = write(&path, file) {
            // All or nothing, so that it can be tried again. None of them was there before.
            contents[..=at].iter().for_each(|file| _ = fs::remove_file(args.dir.join(file.name)));
            return Err(Failed::at(path.display(), error));
        }
    }
    RealDisk.sync_dir(&args.dir).map_err(|error| Failed::at(args.dir.display(), error))?;
    print(files::next_steps(&answers, args))?;
    if let Root::Made(word) = &answers.root {
        note!("The root password, which is shown this once: {}", String::from_utf8_lossy(word));
    }
    Ok(())
}

/// Writes a file that is not there.
fn write(path: &Path, content: &files::Content) -> io::Result<()> {
    let mode = if content.is_secret { 0o600 } else { 0o644 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content.text.as_bytes())?;
    file.sync_all()
}
