//! What an import has to say of an export of another server, before it is imported.

use super::from::From;
use crate::failed::Failed;
use crate::fill::Target;
use crate::output::print;
use crate::whole_file::WholeFile;
use bulk::active_directory;
use bulk::{
    Configuration, Fate, Input, ProposedIndexes, SourceRest, Survey, proposed_indexes, source_rest, survey,
};
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
    /// Whose it is.
    pub(super) from: From,
    /// The export. Its files are read once for the report, and once more by the import.
    pub(super) files: &'a [PathBuf],
    /// The configuration of the other server.
    pub(super) configuration: Option<&'a Path>,
    /// The file of the report in JSON.
    pub(super) report: Option<&'a Path>,
}

/// What the configuration of the other server comes to.
struct Configured {
    /// What it is called.
    path: String,
    indexes: ProposedIndexes,
    rest: SourceRest,
}

/// Prints what the files have that is not imported as it stands, and what the other server's configuration has: access rules, schema, indexes.
/// `translated_by` is the schema of an export of Active Directory.
pub(super) fn run(
    wanted: &Wanted<'_>,
    target: &Target,
    translated_by: Option<&Schema>,
) -> Result<(), Failed> {
    let schema = target.known_schema()?;
    // Before the files, which take their time.
    let configured = wanted.configuration.map(|path| configured(path, &schema)).transpose()?;
    let found = surveyed(wanted, &schema, translated_by)?;
    if let Some(path) = wanted.report {
        let text = format!("{:#}\n", in_json(&found, configured.as_ref()));
        write(path, &text).map_err(|error| Failed::at(path.display(), error))?;
    }
    print(&found)?;
    print(advice(wanted.from, &found, configured.as_ref()))?;
    configured.map_or(Ok(()), |configured| print(in_lines(wanted.from, &configured)))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes())?;
    file.finish()
}

fn configured(path: &Path, schema: &Schema) -> Result<Configured, Failed> {
    let mut text = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(CONFIGURATION_BYTES_MAX + 1).read_to_end(&mut text));
    read.map_err(|error| Failed::at(path.display(), error))?;
    if text.len() as u64 > CONFIGURATION_BYTES_MAX {
        return Err(Failed::at(path.display(), "it has more than 64 MiB"));
    }
    let failed = |(line, why)| Failed::of(format!("{}:{line}: {why}", path.display()));
    let configuration = Configuration::read(&text).map_err(failed)?;
    let (indexes, rest) = (proposed_indexes(&configuration, schema), source_rest(&configuration));
    Ok(Configured { path: path.display().to_string(), indexes, rest })
}

fn surveyed(wanted: &Wanted<'_>, schema: &Schema, translated_by: Option<&Schema>) -> Result<Survey, Failed> {
    let files = wanted.files;
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
        None => survey(&mut inputs, schema),
    };
    surveyed.map_err(|fault| Failed::at(files[fault.input].display(), fault))
}

/// What to do about definitions that the schema lacks. Entries with those are faults, but for attributes of Active Directory.
fn advice(from: From, found: &Survey, configured: Option<&Configured>) -> String {
    if found.missing.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("give these definitions with --schema FILE, or the entries that need them are faults");
    let rest = configured.map(|configured| (&configured.path, &configured.rest));
    let files = rest.map_or(&[][..], |(_, rest)| &rest.schema_files[..]).join(", ");
    text += &match from {
        From::Openldap if !files.is_empty() => format!("; slapd.conf includes {files}"),
        From::Openldap => "; slapcat -n 0 -s cn=schema,cn=config -l FILE writes those of slapd".to_owned(),
        From::Ns389 if !files.is_empty() => format!("; see {files}"),
        From::Ns389 => "; see 99user.ldif and others in /etc/dirsrv/slapd-INSTANCE/schema".to_owned(),
        From::Opendj => {
            "; see 99-user.ldif and others in config/schema or db/schema of the server".to_owned()
        }
        From::Ad => String::new(),
    };
    // Of the others it has no definitions.
    if let Some((path, rest)) = rest.filter(|_| from == From::Openldap) {
        let defined = found.missing.keys().filter(|(_, name)| rest.defined.contains(name)).count();
        text += &format!("; {path} defines {defined} of {}", found.missing.len());
    }
    text + "\n"
}

/// What the configuration has: access rules, the line of a configuration file that has the proposed indexes, and why others are not among them.
fn in_lines(from: From, configured: &Configured) -> String {
    let (mut text, path) = (String::new(), &configured.path);
    let dialect = match from {
        From::Openldap => Some("openldap"),
        From::Opendj => Some("opendj"),
        // Its rules are in entries.
        From::Ns389 | From::Ad => None,
    };
    if let (Some(dialect), rules @ 1..) = (dialect, configured.rest.access_rules) {
        text += &format!(
            "left out: access rules in {path}: {rules}: pando access translate --from {dialect} {path} makes rules of them\n"
        );
    }
    for (index, why) in &configured.indexes.left {
        text += &format!("no index: {index}: {why}\n");
    }
    let indexes: Vec<String> = configured.indexes.indexes.iter().map(ToString::to_string).collect();
    text + &format!("index = {}\n", json!(indexes))
}

fn in_json(found: &Survey, configured: Option<&Configured>) -> Value {
    let values: Vec<Value> =
        found.values.values().map(|(name, fate, count)| value(name, *fate, *count)).collect();
    let defined = configured.map(|configured| &configured.rest.defined);
    let missing = found.missing.iter().map(|((definition, key), missing)| {
        let mut missing =
            json!({ "kind": definition.to_string(), "name": missing.name, "entries": missing.entries });
        if let Some(defined) = defined {
            missing["in-source-config"] = json!(defined.contains(key));
        }
        missing
    });
    let mut report = json!({
        "records": found.entries + found.faults,
        "faults": found.faults,
        "values": values,
        "not-in-schema": missing.collect::<Vec<Value>>(),
    });
    if let Some(Configured { indexes: ProposedIndexes { indexes, left }, rest, .. }) = configured {
        let indexes: Vec<String> = indexes.iter().map(ToString::to_string).collect();
        let left: Vec<Value> =
            left.iter().map(|(index, why)| json!({ "index": index, "why": why })).collect();
        report["indexes"] = json!(indexes);
        report["no-indexes"] = json!(left);
        report["access-rules"] = json!(rest.access_rules);
        report["schema-files"] = json!(rest.schema_files);
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
        let indexes =
            ProposedIndexes { indexes: vec![uid], left: vec![("sn approx".to_owned(), "no such kind")] };
        let rest = SourceRest { access_rules: 3, ..SourceRest::default() };
        let configured = Configured { path: "slapd.conf".to_owned(), indexes, rest };
        let expected = json!({
            "records": 3,
            "faults": 1,
            "values": [{ "name": "aci", "fate": "left out", "why": "rules", "count": 7 }],
            "not-in-schema": [],
            "indexes": ["uid:eq,sub"],
            "no-indexes": [{ "index": "sn approx", "why": "no such kind" }],
            "access-rules": 3,
            "schema-files": [],
        });
        assert_eq!(in_json(&found, Some(&configured)), expected);
        assert!(in_json(&found, None).get("indexes").is_none());
        let indexes = "no index: sn approx: no such kind\nindex = [\"uid:eq,sub\"]\n";
        assert_eq!(in_lines(From::Ns389, &configured), indexes);
        let rules = "left out: access rules in slapd.conf: 3: pando access translate --from openldap slapd.conf makes rules of them\n";
        assert_eq!(in_lines(From::Openldap, &configured), rules.to_owned() + indexes);
        assert_eq!(advice(From::Openldap, &found, Some(&configured)), "");
    }
}
