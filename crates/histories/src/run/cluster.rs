//! Nodes of a cluster, which others start and disturb, as lines on standard input tell of: see `run --help`.

use super::recorder::Tape;
use super::{Shared, clients_round, set_up, survey};
use client::Server;
use env::poll::on_threads;
use std::io::{Write as _, stdin, stdout};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The nodes at these URLs, and who binds there with the password of a file, its first line.
///
/// # Errors
/// What is wrong with a URL or the file.
pub(super) fn nodes(urls: &[String], who: &str, password: &Path) -> Result<Vec<Server>, String> {
    let text =
        std::fs::read_to_string(password).map_err(|error| format!("{}: {error}", password.display()))?;
    let password = text.lines().next().unwrap_or_default().as_bytes();
    let node = |url: &String| {
        let (host, port) = url.strip_prefix("ldap://").and_then(|rest| rest.rsplit_once(':'))?;
        let credentials = Some((who.to_owned(), password.to_vec()));
        Some(Server { host: host.to_owned(), port: port.parse().ok()?, credentials, security: None })
    };
    urls.iter().map(|url| node(url).ok_or_else(|| format!("{url} is not ldap://HOST:PORT"))).collect()
}

/// Does what the lines say, until there are no more.
///
/// # Errors
/// What a node or the caller must not say.
pub(super) fn record(nodes: &[Server], clients: usize, shared: &Shared) -> Result<Tape, String> {
    let mut tape = Tape::default();
    let first = nodes.first().ok_or("no nodes")?;
    set_up(first, shared.silence_s)?;
    let mut line = String::new();
    for round in 0.. {
        line.clear();
        stdin().read_line(&mut line).map_err(|error| error.to_string())?;
        match line.trim_end() {
            "" => break,
            "play" => {
                answer("play")?;
                tape.extend(play(nodes, clients, shared, round)?);
                answer("stop")?;
            }
            "cut" => {
                tape.cut(&shared.clock);
                for node in nodes {
                    let read = survey(node, shared);
                    tape.extend(read.map_err(|why| format!("{}, port {}: {why}", node.host, node.port))?);
                }
                answer("cut")?;
            }
            other => return Err(format!("{other:?} is none of play, stop and cut")),
        }
    }
    Ok(tape)
}

fn answer(line: &str) -> Result<(), String> {
    let mut out = stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| error.to_string())
}

/// Lets all clients do what they do until there is another line.
fn play(nodes: &[Server], clients: usize, shared: &Shared, round: u64) -> Result<Tape, String> {
    let over = AtomicBool::new(false);
    // One thread more, which ends the round.
    let tapes = on_threads(clients + 1, |thread| {
        if thread > 0 {
            return clients_round(nodes, shared, round << 8 | thread as u64, &over);
        }
        let read = stdin().read_line(&mut String::new());
        over.store(true, Ordering::SeqCst);
        read.map(|_| Tape::default()).map_err(|error| error.to_string())
    });
    let mut all = Tape::default();
    tapes.into_iter().try_for_each(|tape| tape.map(|tape| all.extend(tape)))?;
    Ok(all)
}
