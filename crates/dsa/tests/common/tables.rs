//! The tables that say which test checks a rule of an RFC, held to the tests.

use std::path::{Path, PathBuf};
use std::{fs, iter};

/// Every test that the table of a file names is there, and no test of a rule in the file is missing from it.
///
/// Tests are named in the last column: `name` for one of this file, `CRATE: name` for one of another file of this crate or of another one,
/// `black-box: name` for one against a real server. Of this file a name stands for those that begin with it; elsewhere that takes a `*`.
/// A test of a rule has the name of a rule: `s3_2_…`, `rfc3062_s3_…`, `rule_4_…` and the like.
///
/// # Panics
/// When they differ.
pub fn check_table(file: &str) {
    let tests = tests_of(file);
    let named: Vec<&str> = file.lines().filter_map(last_column).flat_map(names).collect();
    let here: Vec<&str> =
        named.iter().filter(|name| !name.contains(':')).map(|name| name.trim_end_matches('*')).collect();
    assert!(!named.is_empty(), "there is a table");
    for test in tests.iter().filter(|test| is_of_a_rule(test)) {
        assert!(here.iter().any(|name| test.starts_with(name)), "{test} is not in the table");
    }
    for name in here {
        assert!(tests.iter().any(|test| test.starts_with(name)), "{name} is not a test of this file");
    }
    check_elsewhere(file);
}

/// Every test of another file that the tables of a file name is there: `CRATE: name`, `black-box: name`.
///
/// # Panics
/// When one is not.
pub fn check_elsewhere(file: &str) {
    for (place, name) in
        file.lines().filter_map(last_column).flat_map(names).filter_map(|name| name.split_once(": "))
    {
        assert!(is_elsewhere(place, name), "{name} is not a test of {place}");
    }
}

/// The last column of a row.
fn last_column(line: &str) -> Option<&str> {
    let row = line.strip_prefix("//! |")?.trim_end().strip_suffix('|')?;
    Some(row.rsplit_once(" | ")?.1)
}

/// What is between backticks.
fn names(column: &str) -> impl Iterator<Item = &str> {
    column.split('`').skip(1).step_by(2)
}

/// Names of the tests of a file of Rust.
fn tests_of(file: &str) -> Vec<&str> {
    let after = file.split("#[test]\n").skip(1);
    after.filter_map(|rest| rest.split("fn ").nth(1)?.split('(').next()).collect()
}

fn is_of_a_rule(test: &str) -> bool {
    let begins = ["s", "rfc", "vlv_s", "psearch_s", "changelog_s", "rule_"];
    let is_numbered =
        |begin| test.strip_prefix(begin).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    begins.into_iter().any(is_numbered)
}

/// Is there a test with such a name in a crate, or among those against a real server?
fn is_elsewhere(place: &str, name: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (folder, extension) = match place {
        "black-box" => (root.join("tests/black_box"), "py"),
        place => (root.join("crates").join(place), "rs"),
    };
    let is_it = |test: &str| match name.strip_suffix('*') {
        Some(begin) => test.starts_with(begin),
        None => test == name,
    };
    files(folder).filter(|path| path.extension().is_some_and(|found| found == extension)).any(|path| {
        let text = fs::read_to_string(&path).expect("sources can be read");
        match extension {
            "py" => text.split("\ndef ").skip(1).filter_map(|rest| rest.split('(').next()).any(is_it),
            _ => tests_of(&text).into_iter().any(is_it),
        }
    })
}

/// All files below a folder.
fn files(folder: PathBuf) -> impl Iterator<Item = PathBuf> {
    let mut folders = vec![folder];
    let mut ready: Vec<PathBuf> = Vec::new();
    iter::from_fn(move || {
        loop {
            if let Some(file) = ready.pop() {
                return Some(file);
            }
            let folder = folders.pop()?;
            for entry in fs::read_dir(&folder).expect("the folder is there") {
                let path = entry.expect("it can be read").path();
                if path.is_dir() { folders.push(path) } else { ready.push(path) }
            }
        }
    })
}
