//! What an import has to say of an export of another server, before it is imported.

use crate::failed::Failed;
use crate::fill::Target;
use crate::output::print;
use crate::whole_file::WholeFile;
use bulk::active_directory;
use bulk::{Fate, Input, ProposedIndexes, Survey, proposed_indexes, survey};
use schema::Schema;
use serde_json::{Value, json};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Bytes of a configuration that is read.
const CONFIGURATION_BYTES_MAX: u64 = 64 << 20;

/// What is reported, and where to.
pub(super) struct Wanted<'a> {
    /// The export. Its files are read once for the report, and once more by the import.
    pub(super) files: &'a [PathBuf],
    /// The configuration of the other server.
    pub(super) configuration: Option<&'a Path>,
    /// The file of the report in JSON.
    pub(super) report: Option<&'a Path>,
}

/// Prints what the files have that is not imported as it stands, and indexes like those of the other server.
/// `translated_by` is the schema of an export of Active Directory.
pub(super) fn run(
    wanted: &Wanted<'_>,
    target: &Target,
    translated_by: Option<&Schema>,
) -> Result<(), Failed> {
    // Before the files, which take their time.
    let proposed = wanted.configuration.map(|path| proposals(path, target)).transpose()?;
    let found = surveyed(wanted.files, translated_by)?;
    if let Some(path) = wanted.report {
        let text = format!("{:#}\n", in_json(&found, proposed.as_ref()));
        write(path, &text).map_err(|error| Failed::at(path.display(), error))?;
    }
    print(found)?;
    proposed.map_or(Ok(()), |proposed| print(in_lines(&proposed)))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes())?;
    file.finish()
}

fn proposals(path: &Path, target: &Target) -> Result<ProposedIndexes, Failed> {
    let mut text = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(CONFIGURATION_BYTES_MAX + 1).read_to_end(&mut text));
    read.map_err(|error| Failed::at(path.display(), error))?;
    if text.len() as u64 > CONFIGURATION_BYTES_MAX {
        return Err(Failed::at(path.display(), "it has more than 64 MiB"));
    }
    let proposed = proposed_indexes(&text, &target.known_schema()?);
    proposed.map_err(|(line, why)| Failed::of(format!("{}:{line}: {why}", path.display())))
}

fn surveyed(files: &[PathBuf], translated_by: Option<&Schema>) -> Result<Survey, Failed> {
    let mut opened = Vec::new();
    for path in files {
        let failed = |why: &dyn Display| Failed::at(path.display(), why);
        let file = File::open(path).map_err(|error| failed(&error))?;
        if !file.metadata().is_ok_and(|about| about.is_file()) {
            return Err(failed(&"--from reads a file twice, which a pipe does not allow"));
        }
        opened.push(file);
    }
    let mut inputs: Vec<Input<'_>> = opened.iter_mut().map(|file| Input::Seekable(file)).collect();
    let surveyed = match translated_by {
        Some(schema) => active_directory::survey(&mut inputs, schema),
        None => survey(&mut inputs),
    };
    surveyed.map_err(|fault| Failed::at(files[fault.input].display(), fault))
}

/// The line of a configuration file that has the proposed indexes, and why others are not among them.
fn in_lines(proposed: &ProposedIndexes) -> String {
    let mut text = String::new();
    for (index, why) in &proposed.left {
        text += &format!("no index: {index}: {why}\n");
    }
    let indexes: Vec<String> = proposed.indexes.iter().map(ToString::to_string).collect();
    text + &format!("index = {}\n", json!(indexes))
}

fn in_json(found: &Survey, proposed: Option<&ProposedIndexes>) -> Value {
    let values: Vec<Value> =
        found.values.values().map(|(name, fate, count)| value(name, *fate, *count)).collect();
    let mut report =
        json!({ "records": found.entries + found.faults, "faults": found.faults, "values": values });
    if let Some(ProposedIndexes { indexes, left }) = proposed {
        let indexes: Vec<String> = indexes.iter().map(ToString::to_string).collect();
        let left: Vec<Value> =
            left.iter().map(|(index, why)| json!({ "index": index, "why": why })).collect();
        report["indexes"] = json!(indexes);
        report["no-indexes"] = json!(left);
    }
    report
}

fn value(name: &str, fate: Fate, count: u64) -> Value {
    let (fate, why) = match fate {
        Fate::Kept => ("kept", None),
        Fate::Useless(why) => ("kept", Some(why)),
        Fate::Translated(to) => ("translated", Some(to)),
        Fate::Left(why) => ("left out", Some(why)),
    };
    json!({ "name": name, "fate": fate, "why": why, "count": count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::directory::IndexSettings;

    #[test]
    fn a_report_has_values_and_indexes() {
        let mut found = Survey { entries: 2, faults: 1, ..Survey::default() };
        found.values.insert("aci".to_owned(), ("aci".to_owned(), Fate::Left("rules"), 7));
        let uid: IndexSettings = "uid:eq,sub".parse().expect("it is an index");
        let proposed =
            ProposedIndexes { indexes: vec![uid], left: vec![("sn approx".to_owned(), "no such kind")] };
        let expected = json!({
            "records": 3,
            "faults": 1,
            "values": [{ "name": "aci", "fate": "left out", "why": "rules", "count": 7 }],
            "indexes": ["uid:eq,sub"],
            "no-indexes": [{ "index": "sn approx", "why": "no such kind" }],
        });
        assert_eq!(in_json(&found, Some(&proposed)), expected);
        assert!(in_json(&found, None).get("indexes").is_none());
        assert_eq!(in_lines(&proposed), "no index: sn approx: no such kind\nindex = [\"uid:eq,sub\"]\n");
    }
}
