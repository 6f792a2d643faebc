//! Documents that name what does not exist: links between files, headings, and paths in code marks. In comments of code, examples that would be
//! tests: the gate does not look for them, since there are none.

use crate::Fault;
use crate::source::File;
use std::path::Path;

/// Paths in code marks that begin like this are meant as files of the project.
const OWN: [&str; 6] = ["crates/", "docs/", "xtask/", "fuzz/", "tests/", ".ci/"];

/// What a block in a comment may be, so that rustdoc takes it for no example.
const NO_RUST: [&str; 2] = ["text", "json"];

/// Checks every Markdown file, and the documentation in every file of the crates.
pub(crate) fn check(root: &Path, files: &[File]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with("crates/") && file.path.ends_with(".rs")) {
        faults.extend(examples(&file.text).map(|line| {
            let message = "an example in a comment is not run: say ```text or ```json, or make it a test";
            Fault::new(format!("{}:{line}", file.path), message.to_owned())
        }));
    }
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
        let mut fenced = false;
        for (at, line) in file.text.lines().enumerate() {
            let mut fault = |message| faults.push(Fault::new(format!("{}:{}", file.path, at + 1), message));
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            for target in links(line) {
                if let Some(message) = broken(root, folder, target) {
                    fault(message);
                }
            }
            for path in code_marks(line).filter(|path| is_own(path)) {
                let path_here = root.join(folder).join(path);
                if !root.join(path).exists() && !path_here.exists() {
                    fault(format!("names `{path}`, which does not exist"));
                }
            }
        }
    }
    faults
}

/// Lines on which code begins in documentation that rustdoc would run: blocks in backquotes, but those in other languages.
fn examples(text: &str) -> impl Iterator<Item = usize> {
    let comment = |line: &'_ str| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(|rest| rest.trim().to_owned())
    };
    let fences = text.lines().enumerate().filter_map(move |(at, line)| Some((at + 1, comment(line)?)));
    let fences = fences.filter(|(_, line)| line.starts_with("```"));
    fences.step_by(2).filter(|(_, fence)| !NO_RUST.contains(&&fence[3..])).map(|(at, _)| at)
}

/// Targets of `[text](target)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// What stands between single backquotes.
fn code_marks(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_own(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    plain && OWN.iter().any(|folder| text.starts_with(folder))
}

fn broken(root: &Path, folder: &Path, target: &str) -> Option<String> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    if path.contains("://") || path.starts_with("mailto:") || (path.is_empty() && heading.is_empty()) {
        return None;
    }
    if path.is_empty() {
        return None;
    }
    let file = root.join(folder).join(path);
    if !file.exists() {
        return Some(format!("links to {path}, which does not exist"));
    }
    let text = std::fs::read_to_string(file).unwrap_or_default();
    if heading.is_empty() || text.lines().any(|line| line.starts_with('#') && anchor(line) == heading) {
        return None;
    }
    Some(format!("links to #{heading}, which {path} does not have"))
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("docs")).unwrap();
        std::fs::write(dir.path().join("docs/b.md"), "# B\n\n## Two words, here\n").unwrap();
        let files = [File { path: "docs/a.md".to_owned(), text: text.to_owned() }];
        check(dir.path(), &files).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn links_lead_somewhere() {
        assert!(faults("[b](b.md) [w](https://example.org/x) [h](b.md#two-words-here)\n").is_empty());
        assert!(faults("[c](c.md)\n")[0].contains("c.md, which does not exist"));
        assert!(faults("[h](b.md#three)\n")[0].contains("#three"));
        assert!(faults("```\n[c](c.md)\n```\n").is_empty());
    }

    #[test]
    fn examples_in_comments_are_found() {
        assert_eq!(examples("//! ```text\n//! a\n//! ```\n/// ```text\n/// ```\n").count(), 0);
        let all: Vec<usize> =
            examples("/// ```\n/// a();\n/// ```\nfn b() {}\n    /// ```rust\n    /// ```\n").collect();
        assert_eq!(all, [1, 5]);
    }

    #[test]
    fn files_in_code_marks_exist() {
        assert!(faults("see `docs/b.md` and `docs/`\n").is_empty());
        assert!(faults("see `crates/gone/src/lib.rs`\n")[0].contains("does not exist"));
        assert!(faults("`tests/<name>` and `cargo test`\n").is_empty());
    }
}
