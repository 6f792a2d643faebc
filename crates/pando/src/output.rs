//! What a subcommand prints. Nobody may read it, or there may be no room for it: neither is a reason to panic, as `println!` and
//! `eprintln!` do.

use crate::failed::Failed;
use std::fmt::Display;
use std::io::{self, Write};

/// Prints `text`, which ends its lines itself, on standard output. One who reads no further has enough: that is no failure.
///
/// # Errors
/// When it cannot be written for another reason.
pub(crate) fn print(text: impl Display) -> Result<(), Failed> {
    print_to(&mut io::stdout().lock(), text)
}

fn print_to(to: &mut dyn Write, text: impl Display) -> Result<(), Failed> {
    match write!(to, "{text}").and_then(|()| to.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failed::of(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints the line that tells that an address is served. A server goes on without it.
pub(crate) fn print_ready(address: impl Display) {
    if let Err(failed) = print(format_args!("ready {address}\n")) {
        failed.faults.iter().for_each(|fault| tracing::warn!("the line `ready` cannot be written: {fault}"));
    }
}

/// Writes a line on standard error. Nobody can be informed that it cannot be written.
pub(crate) fn note_line(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// As `eprintln!`, without the panic.
macro_rules! note {
    ($($text:tt)*) => { $crate::output::note_line(format_args!($($text)*)) };
}
pub(crate) use note;

#[cfg(test)]
mod tests {
    use super::*;

    struct Refusing(io::ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_who_has_enough_is_no_failure_and_a_full_disk_is() {
        assert!(print_to(&mut Refusing(io::ErrorKind::BrokenPipe), "x\n").is_ok());
        let failed =
            print_to(&mut Refusing(io::ErrorKind::StorageFull), "x\n").expect_err("there is no room");
        assert_eq!(failed.code, 1);
        assert!(failed.faults[0].starts_with("standard output: "), "{:?}", failed.faults);
        let mut bytes = Vec::new();
        assert!(print_to(&mut bytes, "x\n").is_ok() && bytes == b"x\n");
    }
}
