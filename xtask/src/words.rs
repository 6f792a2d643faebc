//! Retired words: docs/glossary.md has one word for each thing, and xtask/words.toml the words that it replaced, with how often
//! each still stands in the crates and in the documents. A number may only shrink; a word at 0 cannot come back.

use crate::Fault;
use crate::source::File;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const LIST: &str = "xtask/words.toml";
const GLOSSARY: &str = "docs/glossary.md";
const HEADER: &str = "\
# Words that docs/glossary.md retired, what to say instead, and how often each still stands in crates/ and in the documents.
# Numbers may only get smaller: `cargo xtask tidy --fix` lowers them. A word in small letters is looked for in any case and
# within names (`set_aside` and `SetAside` have \"set aside\"); one with a capital is a name as it is.
";

/// A row of the list.
struct Retired {
    /// All its forms.
    forms: Vec<Form>,
    /// What to say instead.
    say: String,
    crates: usize,
    docs: usize,
}

/// One form of a retired word.
enum Form {
    /// Words in small letters, one after the other.
    Words(Vec<String>),
    /// An identifier.
    Name(String),
}

/// Checks the counts; with `fix`, lowers them to what they are now.
pub(crate) fn check(root: &Path, files: &[File], fix: bool) -> Result<Vec<Fault>, String> {
    let read =
        |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let mut listed = parse(&read(LIST)?)?;
    let glossary = read(GLOSSARY)?;
    let mut faults = Vec::new();
    for (key, retired) in &mut listed {
        let (crates, docs) = count(&retired.forms, files);
        for (area, now, max) in [("crates", crates, &mut retired.crates), ("docs", docs, &mut retired.docs)] {
            if now > *max {
                let found = format!("\"{key}\" {now} times in {area}, {max} are listed");
                faults.push(Fault::new(LIST, format!("{found}: say \"{}\" ({GLOSSARY})", retired.say)));
            } else if fix {
                *max = now;
            }
        }
        let first = key.split(',').next().unwrap_or_default().trim();
        if !glossary.contains(first) {
            faults.push(Fault::new(GLOSSARY, format!("does not have the retired word \"{first}\"")));
        }
    }
    if fix {
        std::fs::write(root.join(LIST), written(&listed)).map_err(|error| format!("{LIST}: {error}"))?;
    }
    Ok(faults)
}

fn parse(text: &str) -> Result<BTreeMap<String, Retired>, String> {
    let rows: BTreeMap<String, toml::Table> =
        toml::from_str(text).map_err(|error| format!("{LIST}: {error}"))?;
    let retired = |(key, row): (String, toml::Table)| {
        let number = |name: &str| row.get(name)?.as_integer().and_then(|n| usize::try_from(n).ok());
        let say = row.get("say").and_then(|say| say.as_str()).map(str::to_owned);
        let forms = key.split(',').map(|form| Form::of(form.trim())).collect();
        match (say, number("crates"), number("docs")) {
            (Some(say), Some(crates), Some(docs)) => Ok((key, Retired { forms, say, crates, docs })),
            _ => Err(format!("{LIST}: \"{key}\" needs say, crates and docs")),
        }
    };
    rows.into_iter().map(retired).collect()
}

fn written(listed: &BTreeMap<String, Retired>) -> String {
    let mut out = HEADER.to_owned();
    for (key, Retired { say, crates, docs, .. }) in listed {
        let _ = writeln!(out, "\"{key}\" = {{ say = \"{say}\", crates = {crates}, docs = {docs} }}");
    }
    out
}

/// How often a retired word stands in the crates, and in the documents.
fn count(forms: &[Form], files: &[File]) -> (usize, usize) {
    let of = |file: &File| forms.iter().map(|form| form.count(&file.text)).sum::<usize>();
    let is_doc = |file: &&File| file.path.ends_with(".md") && file.path != GLOSSARY;
    let is_code = |file: &&File| file.path.starts_with("crates/") && file.path.ends_with(".rs");
    (files.iter().filter(is_code).map(of).sum(), files.iter().filter(is_doc).map(of).sum())
}

impl Form {
    fn of(text: &str) -> Form {
        match text.starts_with(|first: char| first.is_ascii_uppercase()) {
            true => Form::Name(text.to_owned()),
            false => Form::Words(text.split(' ').map(str::to_owned).collect()),
        }
    }

    fn count(&self, text: &str) -> usize {
        match self {
            Form::Name(name) => {
                let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                names.filter(|found| found == name).count()
            }
            Form::Words(words) => {
                let found: Vec<&str> = tokens(text).collect();
                let is_here = |at: &[&str]| at.iter().zip(words).all(|(a, b)| a.eq_ignore_ascii_case(b));
                found.windows(words.len()).filter(|at| is_here(at)).count()
            }
        }
    }
}

/// The words of a text: runs of letters, cut where a capital follows a small letter.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphabetic()).filter(|run| !run.is_empty()).flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let bytes = rest.as_bytes();
            let cut = |at: &usize| bytes[at - 1].is_ascii_lowercase() && bytes[*at].is_ascii_uppercase();
            let end = (1..bytes.len()).find(cut).unwrap_or(bytes.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            (!word.is_empty()).then_some(word)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn words_are_found_in_names_and_sentences() {
        let aside = Form::of("set aside");
        assert_eq!(
            aside.count("fn set_aside() -> SetAside {} // It was set\n/// aside. Setaside. aside set"),
            3
        );
        let told = Form::of("Told");
        assert_eq!(told.count("struct Told; fn told() -> Told { ToldAll }"), 2);
        assert_eq!(Form::of("rests").count("RESTS rest arrests rests_until"), 2);
    }

    #[test]
    fn areas_are_counted_apart_and_the_glossary_is_not() {
        let files = [
            file("crates/a/src/a.rs", "glue"),
            file("docs/a.md", "glue, Glue"),
            file("docs/glossary.md", "glue"),
            file("tests/a.py", "glue"),
        ];
        assert_eq!(count(&[Form::of("glue")], &files), (1, 2));
    }

    /// The list and the glossary in a folder of their own; the faults of a crate with this text, and the list afterwards.
    fn checked(list: &str, code: &str, fix: bool) -> (Vec<String>, String) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("docs")).unwrap();
        std::fs::create_dir_all(dir.path().join("xtask")).unwrap();
        std::fs::write(dir.path().join(GLOSSARY), "glue").unwrap();
        std::fs::write(dir.path().join(LIST), list).unwrap();
        let faults = check(dir.path(), &[file("crates/a/src/a.rs", code)], fix).unwrap();
        let list = std::fs::read_to_string(dir.path().join(LIST)).unwrap();
        (faults.into_iter().map(|fault| fault.message).collect(), list)
    }

    #[test]
    fn counts_may_only_shrink() {
        let list = "\"glue\" = { say = \"alias\", crates = 1, docs = 0 }\n";
        assert!(checked(list, "glue", false).0.is_empty());
        assert!(checked(list, "", false).0.is_empty());
        assert!(checked(list, "glue Glue", true).0[0].contains("say \"alias\""));
        assert!(checked(list, "", true).1.ends_with("crates = 0, docs = 0 }\n"));
        let other = "\"paste\" = { say = \"alias\", crates = 0, docs = 0 }\n";
        assert!(checked(other, "", false).0[0].contains("does not have the retired word \"paste\""));
    }
}
