//! Words that may stand only in some files: calls of the outside world, unsafe code, paths of one machine.

use crate::Fault;
use crate::source::File;

/// Crates that give the same result for the same input, always.
const DETERMINISTIC: [&str; 8] = ["model", "password", "proto", "schema", "access", "logs", "store", "dsa"];

/// Files that may have unsafe code: everything below these paths. Adding one is a decision to be recorded.
const UNSAFE: &[&str] = &[
    // GlobalAlloc cannot be implemented without; the file only counts and hands on.
    "crates/dsa/tests/no_allocation.rs",
    "crates/env/src/memory.rs",
    // A descriptor that the service manager hands over is a number, and nothing else can be made of it.
    "crates/env/src/net/inherited.rs",
    "crates/env/src/poll.rs",
    // jemalloc reads its settings from a symbol that the program defines: an attribute, and no other unsafe code.
    "crates/pando/src/main.rs",
    // One function of the library of Kerberos that the crate for it lacks (docs/decisions/0068-gssapi-is-a-feature.md).
    "crates/server/src/kerberos.rs",
    "crates/store/src/cell",
    "crates/store/src/hash",
    "crates/store/src/segment",
    "crates/store/src/sync",
];

/// A word and why it is forbidden.
struct Rule {
    words: &'static [&'static str],
    reason: &'static str,
}

/// In every crate but env.
const OUTSIDE_ENV: &[Rule] = &[
    Rule { words: &["Instant", "SystemTime"], reason: "the time comes from env::clock" },
    Rule { words: &["std::thread", "thread::spawn", "thread::sleep"], reason: "threads come from env::task" },
    Rule { words: &["std::net::Tcp", "std::net::Udp", "tokio::net"], reason: "sockets come from env::net" },
    Rule {
        words: &["tokio::time", "tokio::fs", "tokio::signal"],
        reason: "the outside world is reached through env",
    },
    Rule { words: &["getrandom::", "rand::", "RandomState"], reason: "random bytes come from env::entropy" },
];

/// Crates whose files must last: a disk that is simulated must see all of it.
const LASTING: [&str; 2] = ["wal", "node"];

/// In crates whose files must last.
const DURABLE: &[Rule] =
    &[Rule { words: &["std::fs", "fs::File"], reason: "durable files are reached through env::disk" }];

/// In deterministic crates. Of the clock nobody but env has more than `Duration`; maps of random order are forbidden by a
/// `clippy.toml` that these crates share.
const DETERMINISM: &[Rule] = &[
    Rule { words: &["std::fs", "std::env::"], reason: "a deterministic crate gets it as a value" },
    Rule { words: &["async fn", "async move", ".await"], reason: "a deterministic crate never waits" },
];

/// Folders of one machine: nothing in the project may name them. Rust code may: it has values of homeDirectory.
const MACHINE_PATHS: [&str; 3] = ["/home/", "/root/", "/Users/"];

/// Checks all files.
pub(crate) fn check(files: &[File]) -> Vec<Fault> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        if !file.path.ends_with(".rs") && MACHINE_PATHS.iter().any(|path| line.contains(path)) {
            faults.push(Fault::new(format!("{}:{}", file.path, at + 1), "names a folder of one machine"));
        }
    }
    let Some(name) = file.crate_name().filter(|_| file.path.ends_with(".rs")) else { return faults };
    let tests_begin = file.tests_begin();
    for (number, code) in file.code() {
        let mut fault = |message: String| faults.push(Fault::new(format!("{}:{number}", file.path), message));
        if has_word(&code, "unsafe") && !UNSAFE.iter().any(|allowed| file.path.starts_with(allowed)) {
            fault("unsafe code outside the files named in xtask/src/calls.rs".to_owned());
        }
        if number >= tests_begin || !file.is_product() {
            continue;
        }
        let rules = if name == "env" { &[][..] } else { OUTSIDE_ENV };
        let deterministic = if DETERMINISTIC.contains(&name) { DETERMINISM } else { &[] };
        let durable = if LASTING.contains(&name) { DURABLE } else { &[][..] };
        for rule in rules.iter().chain(deterministic).chain(durable) {
            if let Some(word) = rule.words.iter().find(|word| has_word(&code, word)) {
                fault(format!("`{word}`: {}", rule.reason));
            }
        }
    }
    faults
}

/// Whether `word` stands in `line`, not as the end or beginning of a longer name.
fn has_word(line: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open_end =
            word.ends_with(|c: char| !is_name(c)) || word.ends_with("Tcp") || word.ends_with("Udp");
        let bounded_before = !word.starts_with(is_name) || !before.is_some_and(is_name);
        bounded_before && (open_end || !after.is_some_and(is_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        check_file(&file).into_iter().map(|fault| format!("{} {}", fault.place, fault.message)).collect()
    }

    #[test]
    fn the_clock_is_in_env() {
        let text = "fn f() {\n    let t = std::time::Instant::now();\n}\n";
        assert!(faults("crates/dsa/src/a.rs", text)[0].starts_with("crates/dsa/src/a.rs:2 "));
        assert!(faults("crates/env/src/clock.rs", text).is_empty());
        assert!(faults("crates/dsa/tests/a.rs", text).is_empty());
        assert!(faults("crates/dsa/src/a/tests.rs", text).is_empty());
        assert!(faults("crates/dsa/src/a.rs", "// std::time::Instant\n").is_empty());
        assert!(faults("crates/dsa/src/a.rs", "#[cfg(test)]\nuse std::time::Instant;\n").is_empty());
    }

    #[test]
    fn sockets_are_in_env() {
        assert_eq!(faults("crates/server/src/a.rs", "use std::net::TcpStream;\n").len(), 1);
        assert!(faults("crates/server/src/a.rs", "use std::net::SocketAddr;\n").is_empty());
    }

    #[test]
    fn deterministic_crates_have_no_files_and_do_not_wait() {
        for line in ["use std::fs;\n", "async fn f() {}\n", "use std::time::{Duration, Instant};\n"] {
            assert_eq!(faults("crates/dsa/src/a.rs", line).len(), 1, "{line}");
        }
        assert!(faults("crates/dsa/src/a.rs", "use std::time::Duration;\n").is_empty());
        assert_eq!(faults("crates/server/src/a.rs", "use std::fs;\n").len(), 0);
    }

    #[test]
    fn durable_files_are_reached_through_env() {
        assert_eq!(faults("crates/wal/src/a.rs", "use std::fs::File;\n").len(), 1);
        assert_eq!(faults("crates/node/src/a.rs", "use std::fs::File;\n").len(), 1);
        assert!(faults("crates/wal/tests/a.rs", "use std::fs::File;\n").is_empty());
    }

    #[test]
    fn unsafe_is_in_named_files() {
        assert_eq!(faults("crates/dsa/src/a.rs", "unsafe { f() }\n").len(), 1);
        assert!(faults("crates/store/src/segment.rs", "unsafe { f() }\n").is_empty());
        assert!(faults("crates/store/src/segment/reader.rs", "unsafe { f() }\n").is_empty());
        assert!(faults("crates/dsa/src/a.rs", "#![deny(unsafe_code)]\n").is_empty());
    }

    #[test]
    fn no_machine_is_named() {
        assert_eq!(faults("docs/a.md", "see /home/somebody/notes\n").len(), 1);
    }
}
