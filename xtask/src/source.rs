//! The project's own text files.

use std::path::Path;
use std::process::Command;

/// One file of the project.
pub(crate) struct File {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    /// What is in it.
    pub(crate) text: String,
}

impl File {
    /// Lines of a Rust file that are code: number from 1, and the line without its comment and with its string
    /// literals emptied.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        self.text.lines().enumerate().map(|(at, line)| (at + 1, strip(line)))
    }

    /// The crate's folder name, for a file below crates/.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether it is compiled into the crate itself, not into its tests or benchmarks.
    pub(crate) fn is_product(&self) -> bool {
        self.path.contains("/src/") && !self.path.ends_with("tests.rs") && !self.path.contains("/tests/")
    }

    /// The line on which inline tests begin, or the line after the last.
    pub(crate) fn tests_begin(&self) -> usize {
        let lines = self.text.lines().enumerate();
        let found = lines
            .into_iter()
            .find(|(_, line)| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test"));
        found.map_or(self.text.lines().count() + 1, |(at, _)| at + 1)
    }
}

/// All files that git knows or would add, Rust and Markdown and the like. What git ignores is nobody's business here.
pub(crate) fn collect(root: &Path) -> Result<Vec<File>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut files = Vec::new();
    for path in String::from_utf8_lossy(&output.stdout).split('\0').filter(|path| is_text(path)) {
        // What a link leads to is here by its own name.
        if root.join(path).is_symlink() {
            continue;
        }
        // A file that was removed but not yet committed is listed too; one that is not UTF-8 is data.
        if let Ok(text) = std::fs::read_to_string(root.join(path)) {
            files.push(File { path: path.to_owned(), text });
        }
    }
    Ok(files)
}

fn is_text(path: &str) -> bool {
    const ENDINGS: [&str; 8] = [".rs", ".md", ".toml", ".py", ".sh", ".java", ".yml", "Makefile"];
    ENDINGS.iter().any(|ending| path.ends_with(ending)) || path.starts_with(".ci/")
}

/// A line without line comment, with string literals emptied. Block comments and strings over several lines are not
/// seen through: the rules ask for words that do not stand there by accident.
fn strip(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    let mut in_string = false;
    while let Some(c) = characters.next() {
        match c {
            '\\' if in_string => drop(characters.next()),
            '"' => {
                in_string = !in_string;
                out.push(c);
            }
            '\'' if !in_string && characters.peek() == Some(&'"') => drop(characters.next()),
            '/' if !in_string && characters.peek() == Some(&'/') => break,
            _ if in_string => {}
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_code() {
        assert_eq!(strip(r#"let a = "std::time"; // unsafe"#), r#"let a = ""; "#);
        assert_eq!(strip(r#"b'"' => unsafe"#), "b' => unsafe");
        assert_eq!(strip(r#""a\"b" + c"#), r#""" + c"#);
    }

    #[test]
    fn tests_begin_where_they_begin() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {}\n".to_owned();
        assert_eq!(File { path: "crates/x/src/a.rs".to_owned(), text }.tests_begin(), 3);
    }
}
