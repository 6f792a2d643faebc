//! `pando password`: what is stored of a password.

use crate::failed::Failed;
use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, Subcommand};
use env::entropy::{Entropy, SystemEntropy};
use env::terminal;
use model::limits::PASSWORD_BYTES_MAX;
use password::{Memory, SALT_BYTES, Scheme};
use std::io::{self, Read};
use zeroize::Zeroizing;

/// Work with passwords.
#[derive(ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Hash(Hash),
}

/// Print what is stored of a password: a value for userPassword or for a root password file.
///
/// The password is asked for on the terminal, twice and without being shown, or read from standard input, where one end
/// of line behind it is left out. It is never an argument, which other users of the machine could see.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
struct Hash {
    /// How it is stored
    #[arg(long, value_name = "SCHEME", default_value = "argon2id", value_parser = hashes())]
    scheme: String,
}

const AFTER: &str = "\
EXAMPLES:
  pando password hash > root.password
  pando password hash --scheme ssha512 < word
  ldappasswd and password modify need none of this: they send the password, and the server stores it.

EXIT CODES:
  0  the value was printed
  1  the password cannot be stored, or the two that were typed differ
  2  the command line is wrong";

/// Schemes that hide the password.
fn hashes() -> PossibleValuesParser {
    let all = Scheme::ALL.iter().filter(|(_, scheme)| *scheme != Scheme::Clear);
    PossibleValuesParser::new(all.map(|(word, _)| *word))
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let Command::Hash(hash) = &args.command;
    let password = ask().map_err(Failed::of)?;
    let stored = store(&hash.scheme, &password, &mut SystemEntropy).map_err(Failed::of)?;
    println!("{stored}");
    Ok(())
}

/// What is stored of a password.
///
/// # Errors
/// Why it cannot be.
pub(crate) fn store(scheme: &str, password: &[u8], entropy: &mut dyn Entropy) -> Result<String, String> {
    if password.is_empty() {
        return Err("the password is empty, and an empty one never binds".to_owned());
    }
    if password.len() > PASSWORD_BYTES_MAX {
        return Err(format!("the password has more than {PASSWORD_BYTES_MAX} octets"));
    }
    let scheme =
        Scheme::ALL.iter().find(|(word, _)| *word == scheme).map_or(Scheme::default(), |(_, of)| *of);
    let mut salt = [0; SALT_BYTES];
    entropy.fill(&mut salt);
    let stored = scheme.make(password, salt, &mut Memory::default());
    let stored = stored.map_err(|not_made| format!("this scheme needs {}", not_made.0))?;
    Ok(String::from_utf8_lossy(&stored).into_owned())
}

/// The password, from the terminal or from standard input.
fn ask() -> io::Result<Zeroizing<Vec<u8>>> {
    if terminal::is_there() {
        return ask_twice("Password: ");
    }
    // A buffer that does not move while it is filled, so that no copy is left.
    let mut password = Zeroizing::new(Vec::with_capacity(PASSWORD_BYTES_MAX + 3));
    io::stdin().lock().take(PASSWORD_BYTES_MAX as u64 + 3).read_to_end(&mut password)?;
    if password.last() == Some(&b'\n') {
        password.pop();
        if password.last() == Some(&b'\r') {
            password.pop();
        }
    }
    Ok(password)
}

/// A password that is typed twice on the terminal; an empty one once.
///
/// # Errors
/// When the two differ, or the terminal cannot be read.
pub(crate) fn ask_twice(question: &str) -> io::Result<Zeroizing<Vec<u8>>> {
    let first = Zeroizing::new(terminal::ask_secret(question)?);
    if first.is_empty() || first == Zeroizing::new(terminal::ask_secret("Again: ")?) {
        return Ok(first);
    }
    Err(io::Error::other("the two passwords differ"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::entropy::SeededEntropy;
    use password::Stored;

    #[test]
    fn every_scheme_that_can_be_named_prints_a_value_that_matches() {
        let mut entropy = SeededEntropy::new(7);
        for (word, scheme) in Scheme::ALL.iter().filter(|(_, scheme)| *scheme != Scheme::Clear) {
            let stored = store(word, b"Secret-1", &mut entropy).unwrap();
            assert!(scheme.writes(stored.as_bytes()), "{word}: {stored}");
            let read = Stored::read(stored.as_bytes()).unwrap();
            assert!(read.verify(b"Secret-1", &mut Memory::default()), "{word}");
        }
    }

    #[test]
    fn what_could_never_bind_is_refused() {
        let mut entropy = SeededEntropy::new(7);
        assert!(store("argon2id", b"", &mut entropy).unwrap_err().contains("empty"));
        assert!(
            store("argon2id", &[b'x'; PASSWORD_BYTES_MAX + 1], &mut entropy).unwrap_err().contains("1024")
        );
        assert!(store("bcrypt", &[b'x'; 80], &mut entropy).unwrap_err().contains("72 octets"));
    }
}
