//! The indexes of another server, read from its configuration, as indexes of this one: slapd.conf, `cn=config` of OpenLDAP as LDIF, dse.ldif of
//! 389 Directory Server, config.ldif of OpenDJ.

use crate::operational::foreign;
use crate::source_configuration::{ConfigEntry, Configuration, Directive, Said};
use schema::{Rule, Schema};
use std::collections::{BTreeMap, BTreeSet};
use store::{IndexKind, IndexSettings};

/// Words of OpenLDAP that change how an index is kept, and not what it is for.
const WITHOUT_MEANING: [&str; 3] = ["none", "nolang", "nosubtypes"];

/// What the configuration of another server comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposedIndexes {
    /// Indexes of this server, one for each attribute, by its name.
    pub indexes: Vec<IndexSettings>,
    /// Indexes of the other server that have no counterpart: attribute and kind, and why.
    pub left: Vec<(String, &'static str)>,
}

/// An attribute, and the kinds of index that it has there.
type Found = (String, Vec<String>);

/// Proposes indexes for those that a configuration has.
pub fn proposed_indexes(configuration: &Configuration, schema: &Schema) -> ProposedIndexes {
    let found = match &configuration.0 {
        Said::Slapd(directives) => of_slapd(directives),
        Said::Ldif(entries) => entries.iter().flat_map(of_entry).collect(),
    };
    proposed(found, schema)
}

/// The directives `index` of slapd.conf.
fn of_slapd(directives: &[Directive]) -> Vec<Found> {
    let mut slapd = Slapd::default();
    for (word, rest) in directives {
        match &word[..] {
            "index" => slapd.directive(rest),
            // Each database has a default of its own.
            "database" => slapd.default.clear(),
            _ => {}
        }
    }
    slapd.found
}

/// Directives of OpenLDAP: `ATTR[,ATTR] [KIND,KIND]`, and `default KIND,KIND` for those without kinds.
#[derive(Default)]
struct Slapd {
    default: Vec<String>,
    found: Vec<Found>,
}

impl Slapd {
    fn directive(&mut self, text: &str) {
        let mut words = text.split_whitespace().map(|word| word.trim_matches('"'));
        let attributes = words.next().unwrap_or_default();
        let kinds: Vec<String> = words
            .flat_map(|word| word.split(','))
            .filter(|kind| !kind.is_empty())
            .map(str::to_owned)
            .collect();
        if attributes.eq_ignore_ascii_case("default") {
            self.default = kinds;
            return;
        }
        let kinds = if kinds.is_empty() { &self.default } else { &kinds };
        let of = |attribute: &str| (attribute.to_owned(), kinds.clone());
        self.found.extend(attributes.split(',').filter(|attribute| !attribute.is_empty()).map(of));
    }
}

/// The indexes that an entry of a configuration is about.
fn of_entry(entry: &ConfigEntry) -> Vec<Found> {
    let all = |name: &str| -> Vec<String> { entry.values(name).map(str::to_owned).collect() };
    let mut slapd = Slapd::default();
    let directives = all("olcdbindex");
    // The default counts wherever it stands, for values have no order.
    let (defaults, others): (Vec<&String>, Vec<&String>) =
        directives.iter().partition(|text| text.to_ascii_lowercase().starts_with("default"));
    defaults.into_iter().chain(others).for_each(|text| slapd.directive(text));
    let is_of_389 = all("objectclass").iter().any(|class| class.eq_ignore_ascii_case("nsIndex"));
    let of_389 =
        is_of_389.then(|| all("cn").first().map(|name| (name.clone(), all("nsindextype")))).flatten();
    let of_opendj = all("ds-cfg-attribute").first().map(|name| (name.clone(), all("ds-cfg-index-type")));
    slapd.found.into_iter().chain(of_389).chain(of_opendj).collect()
}

fn proposed(found: Vec<Found>, schema: &Schema) -> ProposedIndexes {
    let (mut indexes, mut left) = (BTreeMap::<String, IndexSettings>::new(), BTreeSet::new());
    for (attribute, kinds) in found {
        let kinds: BTreeSet<String> = kinds.iter().map(|kind| kind.to_ascii_lowercase()).collect();
        for word in kinds.iter().filter(|kind| !WITHOUT_MEANING.contains(&kind.as_str())) {
            match counterparts(&attribute, word, schema) {
                Ok(kinds) => {
                    let known = schema.find_type(attribute.as_bytes());
                    let name = known.map_or(&attribute[..], |known| schema.attribute_type(known).name());
                    let index = indexes.entry(name.to_ascii_lowercase());
                    index.or_insert_with(|| IndexSettings::of(name, [])).kinds.extend(kinds);
                }
                Err(why) => _ = left.insert((format!("{attribute} {word}"), why)),
            }
        }
    }
    ProposedIndexes { indexes: indexes.into_values().collect(), left: left.into_iter().collect() }
}

/// The kinds of index here that do what one of the other server does.
fn counterparts(attribute: &str, word: &str, schema: &Schema) -> Result<Vec<IndexKind>, &'static str> {
    if foreign(attribute.as_bytes()).is_some() {
        return Err("an attribute of the other server alone");
    }
    let Some(known) = schema.find_type(attribute.as_bytes()) else {
        return Err("the schema has no such attribute");
    };
    let kind = match word {
        "eq" | "equality" => IndexKind::Equality,
        "pres" | "presence" => IndexKind::Presence,
        "sub" | "subinitial" | "subany" | "subfinal" | "substring" => IndexKind::Substring,
        "ordering" => IndexKind::Ordering,
        _ => return Err("there is no such kind of index"),
    };
    let fits = |kind: &IndexKind| IndexSettings::of(attribute, [*kind]).attribute_type(schema).is_ok();
    if !fits(&kind) {
        return Err("the attribute has no matching rule for it");
    }
    // Those servers answer (a>=v) with the equality index of numbers and times.
    let equality = schema.attribute_type(known).equality;
    let is_in_order = matches!(equality, Some(Rule::Integer | Rule::GeneralizedTime));
    let more = (kind == IndexKind::Equality && is_in_order).then_some(IndexKind::Ordering);
    Ok([kind].into_iter().chain(more.filter(fits)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        schema::Builder::new().standard().build().expect("it is built in")
    }

    fn texts(text: &str) -> (Vec<String>, Vec<String>) {
        let configuration = Configuration::read(text.as_bytes()).expect("it can be read");
        let found = proposed_indexes(&configuration, &schema());
        let left = found.left.iter().map(|(what, why)| format!("{what}: {why}"));
        (found.indexes.iter().map(ToString::to_string).collect(), left.collect())
    }

    #[test]
    fn indexes_of_slapd_conf() {
        let text = "# index sn eq\ndatabase mdb\nindex default pres,eq\nindex objectClass eq\nINDEX cn,userid\n\
                    index mail eq,\n  subinitial\nindex sn approx,none\ndatabase mdb\nindex title\nindex taste eq\n";
        let (indexes, left) = texts(text);
        assert_eq!(indexes, ["cn:eq,pres", "mail:eq,sub", "objectClass:eq", "uid:eq,pres"]);
        assert_eq!(
            left,
            ["sn approx: there is no such kind of index", "taste eq: the schema has no such attribute"]
        );
    }

    #[test]
    fn indexes_of_ldif() {
        let slapd = "dn: olcDatabase={1}mdb,cn=config\nobjectClass: olcMdbConfig\nolcDbIndex: uidNumber\n\
                     olcDbIndex: default eq\nolcDbIndex: givenName sub\n";
        assert_eq!(texts(slapd).0, ["givenName:sub", "uidNumber:eq,ord"]);
        let dse = "dn: cn=uid,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config\nobjectClass: top\nobjectClass: nsIndex\n\
                   cn: uid\nnsSystemIndex: false\nnsIndexType: eq\nnsIndexType: sub\n\n\
                   dn: cn=aci,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config\nobjectClass: nsIndex\ncn: aci\nnsIndexType: pres\n\n\
                   dn: cn=x,cn=config\nobjectClass: top\ncn: mail\nnsIndexType: eq\n";
        let (indexes, left) = texts(dse);
        assert_eq!(indexes, ["uid:eq,sub"]);
        assert_eq!(left, ["aci pres: an attribute of the other server alone"]);
        let config = "dn: ds-cfg-attribute=cn,cn=Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config\n\
                      objectClass: ds-cfg-backend-index\nds-cfg-attribute: cn\nds-cfg-index-type: equality\n\
                      ds-cfg-index-type: substring\nds-cfg-index-type: ordering\nds-cfg-index-type: approximate\n";
        let (indexes, left) = texts(config);
        assert_eq!((&indexes[0][..], left.len()), ("cn:eq,sub,ord", 1));
        assert!(Configuration::read(b"dn: cn=x\nno ldif\n").is_err());
    }
}
