//! File sizes: a file without its tests asks a question at 600 lines. Those that are longer already are listed in
//! xtask/ratchet.toml with their length and may only shrink.

use crate::Fault;
use crate::source::File;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Lines without tests from which a file must be listed.
const LINES_MAX: usize = 600;
const LIST: &str = "xtask/ratchet.toml";
const HEADER: &str = "\
# Files over 600 lines without their tests, and their length. A number here may only get smaller, and a new line needs
# a reason in its commit. `cargo xtask tidy --fix` lowers the numbers.
";

/// Checks the sizes; with `fix`, lowers the list to what the files are now.
pub(crate) fn check(root: &Path, files: &[File], fix: bool) -> Result<Vec<Fault>, String> {
    let text = std::fs::read_to_string(root.join(LIST)).map_err(|error| format!("{LIST}: {error}"))?;
    let listed: BTreeMap<String, usize> =
        toml::from_str(&text).map_err(|error| format!("{LIST}: {error}"))?;
    let sizes = sizes(files);
    if fix {
        std::fs::write(root.join(LIST), lowered(&listed, &sizes))
            .map_err(|error| format!("{LIST}: {error}"))?;
    }
    Ok(compare(&listed, &sizes, fix))
}

/// Lines of each Rust file, without its inline tests. Files of tests are lists of cases and may be long.
fn sizes(files: &[File]) -> BTreeMap<&str, usize> {
    let rust = files.iter().filter(|file| file.path.ends_with(".rs") && file.is_product());
    rust.map(|file| (file.path.as_str(), file.tests_begin() - 1)).collect()
}

fn compare(listed: &BTreeMap<String, usize>, sizes: &BTreeMap<&str, usize>, fix: bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, &size) in sizes {
        match listed.get(*path) {
            None if size > LINES_MAX => {
                let message =
                    format!("{size} lines without tests; split it by what it does ({LINES_MAX} at most)");
                faults.push(Fault::new(*path, message));
            }
            Some(&max) if size > max => {
                faults.push(Fault::new(
                    *path,
                    format!("{size} lines without tests, {max} are listed: it may only shrink"),
                ));
            }
            Some(&max) if size < max && !fix => {
                faults.push(Fault::new(
                    *path,
                    format!("{size} lines without tests, {max} are listed: run tidy --fix"),
                ));
            }
            _ => {}
        }
    }
    for path in listed.keys().filter(|path| !sizes.contains_key(path.as_str()) && !fix) {
        faults.push(Fault::new(LIST, format!("names {path}, which is gone: run tidy --fix")));
    }
    faults
}

/// The list with every number lowered to the file's length, without what is gone or short enough now.
fn lowered(listed: &BTreeMap<String, usize>, sizes: &BTreeMap<&str, usize>) -> String {
    let mut out = HEADER.to_owned();
    for (path, max) in listed {
        if let Some(size) = sizes.get(path.as_str()).filter(|size| **size > LINES_MAX) {
            let _ = writeln!(out, "\"{path}\" = {}", size.min(max));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(size: usize) -> BTreeMap<String, usize> {
        BTreeMap::from([("crates/a/src/a.rs".to_owned(), size)])
    }

    #[test]
    fn a_long_file_must_be_listed_and_may_only_shrink() {
        let sizes = BTreeMap::from([("crates/a/src/a.rs", 700)]);
        assert!(compare(&BTreeMap::new(), &sizes, false)[0].message.contains("split it"));
        assert!(compare(&listed(700), &sizes, false).is_empty());
        assert!(compare(&listed(699), &sizes, true)[0].message.contains("only shrink"));
        assert!(compare(&listed(701), &sizes, false)[0].message.contains("--fix"));
    }

    #[test]
    fn fixing_lowers_and_forgets() {
        let sizes = |n| BTreeMap::from([("crates/a/src/a.rs", n)]);
        assert!(lowered(&listed(900), &sizes(700)).contains("= 700"));
        assert!(lowered(&listed(650), &sizes(700)).contains("= 650"));
        assert_eq!(lowered(&listed(900), &sizes(500)), HEADER);
        assert_eq!(lowered(&listed(900), &BTreeMap::new()), HEADER);
    }

    #[test]
    fn tests_do_not_count() {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "//\n".repeat(500), "//\n".repeat(500));
        let files = [File { path: "crates/a/src/a.rs".to_owned(), text }];
        assert_eq!(sizes(&files)["crates/a/src/a.rs"], 500);
    }
}
