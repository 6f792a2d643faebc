//! Files that documents show: `<!-- shows: PATH -->`, and on the next lines, fenced, the file as it is. The path is
//! relative to the document.

use crate::Fault;
use crate::source::File;
use std::path::Path;

const SHOWS: &str = "<!-- shows: ";

/// Checks every Markdown file.
pub(crate) fn check(root: &Path, files: &[File]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = root.join(Path::new(&file.path).parent().unwrap_or(Path::new("")));
        let mut lines = file.text.split_inclusive('\n').enumerate();
        while let Some((at, line)) = lines.next() {
            let Some((path, _)) = line.strip_prefix(SHOWS).and_then(|rest| rest.split_once(" -->")) else {
                continue;
            };
            let is_fenced = lines.next().is_some_and(|(_, fence)| fence.starts_with("```"));
            let shown: String =
                lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
            let wrong = match std::fs::read_to_string(folder.join(path)) {
                Err(error) => format!("shows {path}, which cannot be read: {error}"),
                Ok(text) if !is_fenced || text != shown => format!("does not show {path} as it is"),
                Ok(_) => continue,
            };
            faults.push(Fault::new(format!("{}:{}", file.path, at + 1), wrong));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("docs/x")).unwrap();
        std::fs::write(dir.path().join("docs/x/a.py"), "one\ntwo\n").unwrap();
        let files = [File { path: "docs/a.md".to_owned(), text: text.to_owned() }];
        check(dir.path(), &files).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn what_is_shown_is_the_file() {
        assert!(faults("# A\n<!-- shows: x/a.py -->\n```python\none\ntwo\n```\n").is_empty());
        assert!(faults("```python\nother\n```\n").is_empty());
        for wrong in ["```\none\n```\n", "```\none\ntwo\nthree\n```\n", "one\ntwo\n", ""] {
            assert_eq!(
                faults(&format!("<!-- shows: x/a.py -->\n{wrong}")),
                ["does not show x/a.py as it is"]
            );
        }
        assert!(faults("<!-- shows: x/b.py -->\n```\n```\n")[0].contains("cannot be read"));
    }
}
