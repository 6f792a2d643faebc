//! A terminal that is asked for something secret: what is typed is not shown.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, BufRead, IsTerminal, Write};

/// Is standard input a terminal?
pub fn is_there() -> bool {
    io::stdin().is_terminal()
}

/// Asks for a line on standard error, and reads it from standard input. Without the end of the line.
///
/// # Errors
/// When standard input cannot be read, or is no text.
pub fn ask(question: &str) -> io::Result<String> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Asks for a line on standard error, and reads it from standard input without showing it. Without the end of the line.
///
/// # Errors
/// When standard input is no terminal, or cannot be read.
pub fn ask_secret(question: &str) -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    // The end of the line is shown, so that the next one begins where it should.
    hidden.local_modes.insert(LocalModes::ECHONL);
    // Before the question: what is typed behind it is never shown, and is not among what is thrown away here.
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let _restored = Restored(before);
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut line = Vec::new();
    stdin.lock().read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok(line)
}

/// Gives the terminal its modes back, however the reading ends.
struct Restored(Termios);

impl Drop for Restored {
    fn drop(&mut self) {
        // There is nobody to report to, and the next program sets what it needs.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
