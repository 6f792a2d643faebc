//! Which formats the files of a fixture are of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// For each kind of file, the number of its format; of a file of facts also the names of the facts.
pub(crate) fn versions(fixture: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    gather(fixture, &mut found);
    found
}

fn gather(dir: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).expect("it is there") {
        let path = entry.expect("it is there").path();
        if path.is_dir() {
            gather(&path, found);
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are text");
        let bytes = fs::read(&path).expect("it can be read");
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let (kind, version) = match name {
            "founding" | "rules" | "backup" => (name, facts(&bytes)),
            "manifest" => {
                // Its metadata is the store's, and begins where its files end.
                let files = u64::from_le_bytes(bytes[24..32].try_into().expect("eight bytes"));
                let meta = number(40 + 32 * files as usize + 8);
                (name, format!("{}, {meta}", number(8)))
            }
            name if name.starts_with("01-") => ("segment", number(8).to_string()),
            name if name.ends_with(".log") => ("log", number(8).to_string()),
            _ => continue,
        };
        let kind = format!("{kind}: {version}");
        *found.entry(kind).or_default() = String::new();
    }
}

/// `format` and `behaviour` with their values, and the names of everything else.
fn facts(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).expect("facts are text");
    let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    let words = lines.map(|(name, value)| match name {
        "format" | "behaviour" => format!("{name} {value}"),
        _ => name.to_owned(),
    });
    words.collect::<Vec<_>>().join(", ")
}
