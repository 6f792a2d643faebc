//! What a first configuration hangs on, from flags, from the terminal, or made up.

use super::args::Args;
use crate::failed::Failed;
use crate::password;
use env::entropy::SystemEntropy;
use env::{host, terminal};
use model::dn;
use model::limits::PASSWORD_BYTES_MAX;
use std::io::{self, BufRead, Read};
use zeroize::Zeroizing;

/// The root password.
pub(super) enum Root {
    /// One that an administrator has chosen.
    Chosen(Zeroizing<Vec<u8>>),
    /// One that nobody knows yet.
    Made(Zeroizing<Vec<u8>>),
}

impl Root {
    pub(super) fn word(&self) -> &[u8] {
        match self {
            Root::Chosen(word) | Root::Made(word) => word,
        }
    }
}

/// All that is asked.
pub(super) struct Answers {
    /// DN of the first entry.
    pub(super) suffix: String,
    /// Names and addresses of the server; one at least.
    pub(super) hosts: Vec<String>,
    pub(super) root: Root,
}

impl Answers {
    /// From flags; what they leave open is asked on the terminal, if there is one.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub(super) fn of(args: &Args) -> Result<Answers, Failed> {
        // Standard input is the password then, and nothing else.
        let asks = terminal::is_there() && !args.password_stdin;
        let host = host::name();
        let suffix = match &args.suffix {
            Some(suffix) => suffix.clone(),
            None if asks => ask("Suffix", &suffix_of(&host))?,
            None => return Err(Failed::usage("--suffix DN says which names the directory has")),
        };
        if suffix.is_empty() || dn::parse(suffix.as_bytes()).is_err() {
            return Err(Failed::usage(format!(
                "the suffix \"{suffix}\" is no DN, as dc=example,dc=com is one"
            )));
        }
        let hosts = match args.host.is_empty() {
            false => args.host.clone(),
            true if asks => vec![ask("Name of this host", &host)?],
            true => vec![host],
        };
        Ok(Answers { suffix, hosts, root: root(args, asks)? })
    }
}

/// The suffix that fits to a host's name: ldap.example.com is in dc=example,dc=com.
fn suffix_of(host: &str) -> String {
    let domain = host.split_once('.').map_or("example.com", |(_, domain)| domain);
    let parts: Vec<String> = domain.split('.').map(|part| format!("dc={part}")).collect();
    parts.join(",")
}

fn ask(question: &str, default: &str) -> Result<String, Failed> {
    let answer = terminal::ask(&format!("{question} [{default}]: ")).map_err(Failed::of)?;
    let answer = answer.trim();
    Ok(if answer.is_empty() { default.to_owned() } else { answer.to_owned() })
}

/// The root password: the first line of standard input, or what is typed twice; one is made where neither is.
fn root(args: &Args, asks: bool) -> Result<Root, Failed> {
    if args.password_stdin {
        let mut line = Zeroizing::new(Vec::with_capacity(PASSWORD_BYTES_MAX + 3));
        let read = io::stdin().lock().take(PASSWORD_BYTES_MAX as u64 + 2).read_until(b'\n', &mut line);
        read.map_err(Failed::of)?;
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        return match line.is_empty() {
            true => Err(Failed::usage("standard input has no password")),
            false => Ok(Root::Chosen(line)),
        };
    }
    if asks {
        let word = password::ask_twice("Root password [one is made]: ").map_err(Failed::of)?;
        if !word.is_empty() {
            return Ok(Root::Chosen(word));
        }
    }
    Ok(Root::Made(Zeroizing::new(dsa::password::generate(&mut SystemEntropy))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_follows_from_the_host() {
        assert_eq!(suffix_of("ldap.example.org"), "dc=example,dc=org");
        assert_eq!(suffix_of("machine"), "dc=example,dc=com");
    }
}
