//! The directory that a configuration describes: its schema, then the store and the agent over it.

use crate::config::{Config, Fault, Problem};
use dsa::Dsa;
use dsa::config::{MappedTo, Peers, Principals};
use dsa::settings::{MEMORY_MAX, Record, Start, value};
use env::clock::Clock;
use env::entropy::Entropy;
use node::data::Superblock;
use schema::{BUILTIN_NAMES, Builder, Schema, SchemaFile};
use std::io;
use std::sync::Arc;
use store::Settings;
pub use store::{IndexKind, IndexName, IndexSettings};

/// Builds the schema: the standard one, an attribute for each key, then the files that are named, or those that the data directory
/// has recorded, then what was added while that was served. Faults of files have their lines.
pub fn schema(config: &Config) -> Result<Schema, Vec<Fault>> {
    let attributes = crate::config::keys().map(|key| (key.attribute(), key.many()));
    let mut builder = Builder::new().standard().settings(attributes).secrets(config.secrets.iter().cloned());
    let mut faults = Vec::new();
    let recorded = config.recorded_schema.iter().flatten().cloned();
    builder = recorded.fold(builder, Builder::with_file);
    for name in config.unread_schema() {
        let is_file = !BUILTIN_NAMES.contains(&name.as_str());
        let text = if is_file { std::fs::read_to_string(name) } else { Ok(String::new()) };
        match text {
            Ok(text) => {
                builder = builder.with_file(SchemaFile { name: name.as_str().into(), text: text.into() })
            }
            Err(error) => faults.push(Fault {
                file: Some(name.clone()),
                place: None,
                message: format!("cannot be read: {error}"),
            }),
        }
    }
    let builder = config.added_schema.iter().cloned().fold(builder, Builder::with_file);
    match builder.build() {
        Ok(schema) if faults.is_empty() => Ok(schema),
        Ok(_) => Err(faults),
        Err(errors) => {
            faults.extend(errors.0.iter().map(located));
            Err(faults)
        }
    }
}

/// What the schema was built in spite of: syntaxes and matching rules that are not known. Not errors, but worth telling.
pub fn warnings(schema: &Schema) -> Vec<Fault> {
    schema.warnings().iter().map(located).collect()
}

fn located(fault: &schema::Fault) -> Fault {
    Fault {
        file: Some(fault.file.to_string()),
        place: (fault.line != 0).then_some((fault.line, 1)),
        message: fault.message.clone(),
    }
}

/// Names in the configuration that the schema does not know, and indexes that it has no rules for.
pub fn unknown_to_schema(config: &Config, schema: &Schema) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut indexed = Vec::new();
    for index in &config.indexes {
        match index.attribute_type(schema) {
            Ok(attribute_type) if indexed.contains(&attribute_type) => {
                let name = &index.attribute;
                let message = format!("`{name}` is listed twice; join its kinds with commas");
                problems.push(Problem::at("index", message));
            }
            Ok(attribute_type) => indexed.push(attribute_type),
            Err(reason) => problems.push(Problem::at("index", reason)),
        }
    }
    let names = config.suffixes.iter().map(|dn| ("suffix", dn));
    let names = names.chain(config.root_dn.iter().map(|dn| ("root-dn", dn)));
    let names = names.chain(config.peers.iter().flat_map(|mapping| {
        let dn = match &mapping.to {
            MappedTo::Dn(dn) => Some(dn),
            MappedTo::Filter { base, .. } => base.as_ref(),
        };
        dn.map(|dn| ("identity.peer", dn))
    }));
    let of_identities = config.settings.names().map(|(key, dn)| (key, dn.to_owned()));
    let names = names.map(|(key, dn)| (key, dn.clone())).chain(of_identities);
    for attribute in config.settings.identities.fingerprints() {
        if schema.find_type(attribute.as_bytes()).is_none() {
            let message = format!("the schema has no attribute `{attribute}`");
            problems.push(Problem::at("identity.certificate", message));
        }
    }
    let precedences = config.settings.transactions.precedence.iter();
    for (key, dn) in names.chain(precedences.map(|given| ("txn-precedence", given.dn.clone()))) {
        if let Err(invalid) = schema.normalise_dn(dn.as_bytes(), &mut Vec::new()) {
            problems.push(Problem::at(key, format!("`{dn}`: {invalid}")));
        }
    }
    let of_rules = access::check_all(&config.settings.access.rules, schema).err().unwrap_or_default();
    problems.extend(of_rules.into_iter().map(|(at, reason)| Problem::at_value("access.rule", at, reason)));
    let of_limits = access::check_limits(&config.settings.access.limits, schema).err().unwrap_or_default();
    problems.extend(of_limits.into_iter().map(|(at, reason)| Problem::at_value("limits.rule", at, reason)));
    problems
}

/// Makes the empty directory.
///
/// # Errors
/// When the root password cannot be read, when memory cannot be reserved, or when the configuration does not fit the
/// schema ([`unknown_to_schema`] tells more).
pub fn create(
    config: &Config,
    schema: Schema,
    clock: &impl Clock,
    superblock: &Superblock,
) -> io::Result<Arc<Dsa>> {
    Dsa::new(agent(config, &Record::default(), clock, superblock)?, Arc::new(schema))
}

/// What the agent and its store are made with; `record` overrides what is configured of settings that change while it
/// is served.
///
/// # Errors
/// When the root password cannot be read.
pub fn agent(
    config: &Config,
    record: &Record,
    clock: &impl Clock,
    superblock: &Superblock,
) -> io::Result<dsa::Config> {
    let mut configured = config.settings.clone();
    configured.memory_of_machine = config.memory_of_machine();
    Ok(dsa::Config {
        store: settings(config, record, superblock),
        root_dn: config.root_dn.clone(),
        root_password: config.root_password()?.or_else(|| config.root_password_hash.clone()),
        offers_tls: !config.tls_certificates.is_empty(),
        peers: Peers { mappings: config.peers.clone(), own_uid: Some(env::host::user_id()) },
        tokens: config.tokens.rules(),
        principals: config.keytab.as_ref().map(|_| Principals { realm: config.realm.clone() }),
        queue_length_oid: config.queue_length_oid.clone().map(String::into_bytes),
        settings: Start {
            configured,
            record: record.clone(),
            fixed: crate::config::fixed(config),
            later_indexes: Vec::new(),
        },
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_ms: clock.wall_ms(),
        // Of a data directory, recovery knows better.
        schema_since_ms: clock.wall_ms(),
    })
}

/// What a new directory is made with.
pub fn superblock(config: &Config, entropy: &mut impl Entropy) -> Superblock {
    Superblock {
        key: std::array::from_fn(|_| entropy.next_u64()),
        site: 0,
        operational_attributes: config.operational_attributes,
        initial_owner: config.root_dn.clone().unwrap_or_default(),
    }
}

fn settings(config: &Config, record: &Record, superblock: &Superblock) -> Settings {
    // Address space is reserved for what holds, which a change may have said, and for what comes back when that is undone.
    let recorded = record.values.get(MEMORY_MAX).and_then(|values| value::bytes(values.first()?).ok());
    Settings {
        suffixes: config.suffixes.clone(),
        indexes: config.indexes.clone(),
        memory_bytes_max: config.memory_bytes_max().max(recorded.unwrap_or(0)),
        removals_max: store::REMOVALS_MAX,
        operational_attributes: superblock.operational_attributes,
        schema_check: config.schema_check,
        initial_owner: superblock.initial_owner.clone(),
        key: superblock.key,
        site: superblock.site,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(set: &[(&str, &[&str])]) -> Config {
        let mut config = Config::default();
        for (name, values) in set {
            config.set(name, &values.iter().map(|v| v.to_string()).collect::<Vec<_>>()).unwrap();
        }
        config
    }

    #[test]
    fn the_standard_schema_knows_its_names() {
        let config = config(&[("suffix", &["dc=com"]), ("index", &["uid:eq", "2.5.4.3:sub"])]);
        let schema = schema(&config).unwrap();
        assert_eq!(unknown_to_schema(&config, &schema), []);
    }

    #[test]
    fn unknown_names_are_problems() {
        let config = config(&[("suffix", &["flavour=sweet"]), ("index", &["taste:eq"])]);
        let schema = schema(&config).unwrap();
        let problems = unknown_to_schema(&config, &schema);
        assert_eq!(problems.iter().map(|p| p.key).collect::<Vec<_>>(), ["index", "suffix"]);
    }

    #[test]
    fn secrets_are_named_whether_the_schema_has_them_or_not() {
        let schema = schema(&config(&[("access.secrets", &["carLicense", "1.2.3.4", "pin"])])).unwrap();
        let is_secret = |name: &str| schema.find_type(name.as_bytes()).map(|id| schema.is_secret(id));
        assert_eq!(is_secret("carLicense"), Some(true));
        assert_eq!(
            (is_secret("userPassword"), is_secret("cn"), is_secret("pin")),
            (Some(true), Some(false), None)
        );
    }

    #[test]
    fn rules_fit_the_schema() {
        let rules = ["a: all; users; allow=read", "b: all attrs=taste; users; allow=read"];
        let config = config(&[("suffix", &["dc=com"]), ("access.rule", &rules)]);
        let problems = unknown_to_schema(&config, &schema(&config).unwrap());
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].value, Some(1));
        assert!(problems[0].message.contains("rule `b`: there is no attribute `taste`"), "{problems:?}");
    }

    #[test]
    fn indexes_fit_the_schema() {
        let config = config(&[
            ("suffix", &["dc=com"]),
            ("index", &["uid:eq", "jpegPhoto:eq", "member:ord", "userid:sub"]),
        ]);
        let problems = unknown_to_schema(&config, &schema(&config).unwrap());
        let messages: Vec<&str> = problems.iter().map(|p| &p.message[..]).collect();
        assert!(messages[0].contains("`jpegPhoto`") && messages[0].contains("no equality"), "{messages:?}");
        assert!(messages[1].contains("`member`") && messages[1].contains("no ordering"), "{messages:?}");
        assert_eq!(messages[2..], ["`userid` is listed twice; join its kinds with commas"]);
    }

    #[test]
    fn a_fault_in_a_schema_file_has_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("my.schema");
        std::fs::write(&file, "# mine\nattributetype ( 1.2.3.4 NAME 'taste' SUP flavour )\n").unwrap();
        let faults =
            schema(&config(&[("schema", &[file.to_str().unwrap(), "/nowhere.schema"])])).unwrap_err();
        let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(shown.iter().any(|f| f.contains("my.schema:2:")), "{shown:?}");
        assert!(shown.iter().any(|f| f.starts_with("/nowhere.schema: cannot be read")), "{shown:?}");
    }

    #[test]
    fn built_in_schemas_go_by_name() {
        assert!(schema(&config(&[("schema", &["dvtds"])])).is_ok());
    }
}
