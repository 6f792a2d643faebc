//! What would have to be kept in step by hand: fuzz targets, their corpora and their lock file, modules that no one imports.

use crate::source::File;
use crate::{Fault, cargo};
use std::path::Path;

/// Checks all registrations.
pub(crate) fn check(root: &Path, files: &[File]) -> Vec<Fault> {
    let mut faults = fuzz_targets(root, files);
    faults.extend(fuzz_lock(root));
    faults.extend(modules(files));
    faults
}

/// The fuzz targets are a workspace of their own, with a lock file that no build of the others brings up to date.
fn fuzz_lock(root: &Path) -> Option<Fault> {
    let arguments = ["metadata", "--format-version=1", "--locked", "--manifest-path=fuzz/Cargo.toml"];
    let reason = cargo(root, &arguments).err()?;
    let message = format!("run `cargo metadata --manifest-path fuzz/Cargo.toml` and commit it: {reason}");
    Some(Fault::new("fuzz/Cargo.lock", message))
}

/// Every fuzz target is declared in the manifest, has a corpus, and stands in the table that the corpus test runs.
fn fuzz_targets(root: &Path, files: &[File]) -> Vec<Fault> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let manifest = text("fuzz/Cargo.toml");
    let table = text("fuzz/src/lib.rs");
    let mut faults = Vec::new();
    for file in files {
        let Some(name) = file.path.strip_prefix("fuzz/fuzz_targets/").and_then(|n| n.strip_suffix(".rs"))
        else {
            continue;
        };
        let mut fault = |message: String| faults.push(Fault::new(&file.path, message));
        if !manifest.contains(&format!("\"{name}\"")) {
            fault(format!("fuzz/Cargo.toml does not declare the target `{name}`"));
        }
        if !table.contains(&format!("\"{name}\"")) {
            fault(format!("TARGETS of fuzz/src/lib.rs does not name `{name}`, so its corpus is not run"));
        }
        if !root.join("fuzz/corpus").join(name).is_dir() {
            fault(format!("there is no corpus fuzz/corpus/{name}"));
        }
    }
    faults
}

/// Every file below src/ is a module of its crate: one that no one declares compiles nowhere and rots.
fn modules(files: &[File]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/")) {
        let Some((folder, name)) = file.path.strip_suffix(".rs").and_then(|path| path.rsplit_once('/'))
        else {
            continue;
        };
        if matches!(name, "lib" | "main") || folder.contains("/bin") {
            continue;
        }
        let (folder, name) =
            if name == "mod" { folder.rsplit_once('/').unwrap_or((folder, name)) } else { (folder, name) };
        let declared = parents(folder)
            .iter()
            .any(|parent| files.iter().any(|other| other.path == *parent && declares(&other.text, name)));
        if !declared {
            faults.push(Fault::new(&file.path, format!("no `mod {name};` declares it")));
        }
    }
    faults
}

/// Files that may declare the modules of `folder`.
fn parents(folder: &str) -> Vec<String> {
    let mut parents = vec![format!("{folder}.rs"), format!("{folder}/mod.rs")];
    if folder.ends_with("/src") {
        parents.extend([format!("{folder}/lib.rs"), format!("{folder}/main.rs")]);
    }
    parents
}

fn declares(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let words = line.trim().trim_end_matches(';');
        let module = words.rsplit_once("mod ").map(|(_, module)| module.trim_start_matches("r#"));
        module == Some(name) && line.trim().ends_with(';')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_module_without_a_declaration_is_found() {
        let mut files = vec![
            file("crates/a/src/lib.rs", "pub mod b;\nmod r#gen;\n"),
            file("crates/a/src/b.rs", "    mod c;\n"),
            file("crates/a/src/b/c.rs", ""),
            file("crates/a/src/gen.rs", ""),
        ];
        assert!(modules(&files).is_empty());
        files.push(file("crates/a/src/d.rs", ""));
        assert_eq!(modules(&files)[0].place, "crates/a/src/d.rs");
    }

    #[test]
    fn a_fuzz_target_needs_three_things() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = vec![file("fuzz/fuzz_targets/dn.rs", "")];
        assert_eq!(fuzz_targets(dir.path(), &files).len(), 3);
        files.push(file("fuzz/Cargo.toml", "name = \"dn\"\n"));
        files.push(file("fuzz/src/lib.rs", "(\"dn\", dn::check),"));
        std::fs::create_dir_all(dir.path().join("fuzz/corpus/dn")).unwrap();
        assert!(fuzz_targets(dir.path(), &files).is_empty());
    }
}
