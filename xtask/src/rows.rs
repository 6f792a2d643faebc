//! The rows of the security requirements: xtask/rows.toml lists each with what it says, and what is not tested yet. A row whose list of what
//! is lacking is not its whole text has a test that names it: a function whose name begins with the id (`a7_search`, `test_t3_...`), or a comment
//! that says `row A7`.

use crate::Fault;
use crate::source::File;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const LIST: &str = "xtask/rows.toml";
/// Letters of the rows, and how many each has.
const ROWS: [(char, u32); 8] =
    [('T', 10), ('S', 9), ('A', 13), ('X', 12), ('P', 9), ('Y', 9), ('L', 4), ('G', 5)];
/// What is lacking of a row of which nothing is tested.
const ALL: &str = "all";
/// Features that a part of a row may wait for, and the control or operation by whose OID it is seen that they are there.
const FEATURES: [(&str, &str); 6] = [
    ("sort", "1.2.840.113556.1.4.473"),
    ("virtual list view", "2.16.840.1.113730.3.4.9"),
    ("matched values", "1.2.826.0.1.3344810.2.3"),
    ("dereference", "1.3.6.1.4.1.4203.666.5.16"),
    ("content synchronisation", "1.3.6.1.4.1.4203.1.9.1.1"),
    ("persistent search", "2.16.840.1.113730.3.4.3"),
];

/// Checks that each row is listed, and has a test unless it lacks all.
pub(crate) fn check(root: &Path, files: &[File]) -> Result<Vec<Fault>, String> {
    let listed = list(root)?;
    let tests = files.iter().filter(|file| is_of_rows(&file.path)).flat_map(|file| named(&file.text));
    let tested: BTreeSet<String> = tests.collect();
    let mut faults = Vec::new();
    for (letter, count) in ROWS {
        for number in 1..=count {
            let id = format!("{letter}{number}");
            let Some(row) = listed.get(&id) else {
                faults.push(Fault::new(LIST, format!("row {id} is not listed")));
                continue;
            };
            faults.extend(waits(&id, row, files));
            let lacks = row.get("lacks").and_then(|lacks| lacks.as_str());
            match (tested.contains(&id), lacks) {
                (false, lacks) if lacks != Some(ALL) => {
                    faults.push(Fault::new(LIST, format!("no test names row {id}")));
                }
                (true, Some(ALL)) => {
                    faults.push(Fault::new(LIST, format!("row {id} has a test: say what it lacks still")));
                }
                _ => {}
            }
        }
    }
    let all = ROWS.into_iter().flat_map(|(letter, count)| (1..=count).map(move |n| format!("{letter}{n}")));
    let all: BTreeSet<String> = all.collect();
    let unknown = listed.keys().filter(|id| !all.contains(*id));
    faults.extend(unknown.map(|id| Fault::new(LIST, format!("there is no row {id}"))));
    Ok(faults)
}

/// A part of a row that waits for a feature is tested when that is there.
fn waits(id: &str, row: &toml::Table, files: &[File]) -> Vec<Fault> {
    let waits = row.get("waits-for").and_then(|features| features.as_array());
    let waits = waits.into_iter().flatten().map(|feature| feature.as_str().unwrap_or_default());
    let judged = waits.filter_map(|feature| {
        let Some((_, oid)) = FEATURES.iter().find(|(name, _)| *name == feature) else {
            return Some(format!("row {id} waits for {feature}, which is not known"));
        };
        // As a control declares it. Tables of controls of other servers name it within a text.
        let declared = format!("OID: &[u8] = b\"{oid}\"");
        let is_there = files
            .iter()
            .any(|file| file.path.starts_with("crates/proto/src/") && file.text.contains(&declared));
        is_there.then(|| format!("{feature} is there: test the part of row {id} that waits for it"))
    });
    judged.map(|text| Fault::new(LIST, text)).collect()
}

/// The rows that are about attacks and have a test, and those of groups and of what the server keeps: what their tests see is what does not happen.
pub(crate) fn need_holes(root: &Path) -> Result<Vec<String>, String> {
    let needs_one = |id: &str| {
        ["X", "S", "L"].iter().any(|letter| id.starts_with(letter))
            || ["T3", "A5", "P6", "Y8", "G3"].contains(&id)
    };
    let listed = list(root)?;
    let has_test = |row: &toml::Table| row.get("lacks").and_then(|lacks| lacks.as_str()) != Some(ALL);
    Ok(listed.into_iter().filter(|(id, row)| needs_one(id) && has_test(row)).map(|(id, _)| id).collect())
}

fn list(root: &Path) -> Result<BTreeMap<String, toml::Table>, String> {
    let text = std::fs::read_to_string(root.join(LIST)).map_err(|error| format!("{LIST}: {error}"))?;
    toml::from_str(&text).map_err(|error| format!("{LIST}: {error}"))
}

/// Tests of RFCs are named by sections of these, and those of histories by anomalies, which look like rows.
fn is_of_rows(path: &str) -> bool {
    let is_test = path.starts_with("tests/") || path.starts_with("fuzz/") || path.starts_with("crates/");
    is_test && !path.contains("rfc") && !path.contains("histories/")
}

/// The rows that a file names.
fn named(text: &str) -> Vec<String> {
    let of_functions = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let name = line.strip_prefix("fn ").or_else(|| line.strip_prefix("def "))?;
        id_at(name.strip_prefix("test_").unwrap_or(name), '_')
    });
    let lower = text.to_ascii_lowercase();
    let of_comments = lower.match_indices("row ").filter_map(|(at, word)| id_of(&text[at + word.len()..]));
    of_functions.chain(of_comments.collect::<Vec<_>>()).collect()
}

/// An id at the beginning, with this character behind it.
fn id_at(text: &str, behind: char) -> Option<String> {
    let id = id_of(text)?;
    text[id.len()..].starts_with(behind).then_some(id)
}

fn id_of(text: &str) -> Option<String> {
    let letter = text.chars().next()?.to_ascii_uppercase();
    let digits: String = text.chars().skip(1).take_while(char::is_ascii_digit).collect();
    (ROWS.iter().any(|(known, _)| *known == letter) && !digits.is_empty())
        .then(|| format!("{letter}{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_waits_until_its_feature_is_there() {
        let row: toml::Table = toml::from_str("waits-for = [\"sort\"]").expect("a table");
        let file = |oid: &str| File {
            path: "crates/proto/src/control/sort.rs".to_owned(),
            text: format!("pub const OID: &[u8] = b\"{oid}\";"),
        };
        assert!(waits("X5", &row, &[file("1.2.3")]).is_empty());
        assert_eq!(waits("X5", &row, &[file("1.2.840.113556.1.4.473")]).len(), 1);
        let row: toml::Table = toml::from_str("waits-for = [\"rain\"]").expect("a table");
        assert_eq!(waits("X5", &row, &[]).len(), 1);
    }

    #[test]
    fn rows_are_named_by_functions_and_comments() {
        let text = "fn a7_search() {}\n    def test_t3_octets(self):\n/// Row X9: gone\nfn gather() {}\n# row s1\nfn a7() {}";
        assert_eq!(named(text), ["A7", "T3", "X9", "S1"]);
    }
}
