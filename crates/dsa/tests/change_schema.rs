//! Definitions are removed and changed, and rules added, by a modify of the subschema subentry: what uses them keeps them, and what is left
//! goes on.

mod common;

use common::schema_changes::{each, shown};
use common::{Client, Given, Outcome};
use dsa::SUBSCHEMA_DN;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind::{self, Add, Delete, Replace};

const TASTE: &str = "( 1.3.6.1.4.1.99999.1.1 NAME 'taste' SUP name )";
const SCORE: &str =
    "( 1.3.6.1.4.1.99999.1.2 NAME 'score' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )";
const WINE: &str = "( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL MUST cn MAY ( taste $ score ) )";
const RED: &str = "cn=red,ou=groups,dc=example";

/// One attribute, and texts of definitions.
type Definitions<'a> = (&'a str, &'a str);

fn change(client: &mut Client, removed: &[Definitions<'_>], added: &[Definitions<'_>]) -> Outcome {
    let of = |kind, list: &[Definitions<'_>]| -> Vec<(ModifyKind, String, String)> {
        list.iter().map(|(name, text)| (kind, (*name).to_owned(), (*text).to_owned())).collect()
    };
    let all = [of(Delete, removed), of(Add, added)].concat();
    let values: Vec<[&str; 1]> = all.iter().map(|(_, _, text)| [text.as_str()]).collect();
    let changes: Vec<(ModifyKind, &str, &[&str])> =
        all.iter().zip(&values).map(|((kind, name, _), text)| (*kind, name.as_str(), &text[..])).collect();
    client.modify(SUBSCHEMA_DN, &changes)
}

/// A directory with a wine in it; without a log, and with one.
fn each_with_wine(test: impl Fn(&mut Client) + Sync) {
    each(|client| {
        let defined = change(
            client,
            &[],
            &[("objectClasses", WINE), ("attributeTypes", TASTE), ("attributeTypes", SCORE)],
        );
        assert_eq!(defined.code, Success, "{}", defined.text);
        let wine: Given<'_> = &[("objectClass", &["wine"]), ("cn", &["red"]), ("taste", &["dry", "long"])];
        client.must_add(RED, wine);
        test(client);
    });
}

fn refused(outcome: &Outcome, code: model::ResultCode, text: &str) {
    assert_eq!((outcome.code, &outcome.text[..]), (code, text));
}

#[test]
fn what_an_entry_uses_stays_and_the_entry_is_named() {
    each_with_wine(|client| {
        // What other definitions name comes first: it is known without a look at entries.
        let taste = ("attributeTypes", TASTE);
        refused(
            &change(client, &[taste], &[]),
            UnwillingToPerform,
            "the attribute type 'taste' (1.3.6.1.4.1.99999.1.1) cannot be removed: the object class 'wine' (1.3.6.1.4.1.99999.2.1) names it",
        );
        refused(
            &change(client, &[taste, ("objectClasses", WINE)], &[]),
            UnwillingToPerform,
            &format!("entries use it: the entry {RED} is of the object class 'wine'"),
        );
        // Without it in the class the attribute is found.
        let less = "( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL MUST cn MAY score )";
        refused(
            &change(client, &[taste, ("objectClasses", WINE)], &[("objectClasses", less)]),
            UnwillingToPerform,
            &format!("entries use it: the entry {RED} has the attribute type 'taste'"),
        );
        // What no entry has goes, and its name is free.
        let class = "( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL MUST cn MAY taste )";
        let gone = change(
            client,
            &[("attributeTypes", SCORE), ("objectClasses", WINE)],
            &[("objectClasses", class)],
        );
        assert_eq!(gone.code, Success, "{}", gone.text);
        assert_eq!(
            (shown(client, "attributeTypes", "'score'"), shown(client, "objectClasses", "score")),
            (0, 0)
        );
        assert_eq!(client.modify(RED, &[(Add, "score", &["5"])]).code, UndefinedAttributeType);
        let other = "( 1.3.6.1.4.1.99999.1.9 NAME 'score' SUP name )";
        assert_eq!(change(client, &[], &[("attributeTypes", other)]).code, Success);
        // With the entry everything may go.
        assert_eq!(client.delete(RED).code, Success);
        let all = [("objectClasses", class), taste, ("attributeTypes", other)];
        let gone = change(client, &all, &[]);
        assert_eq!(gone.code, Success, "{}", gone.text);
        assert!(client.search("dc=example", Scope::Subtree, "(taste=dry)", &["1.1"]).entries.is_empty());
        let wine: Given<'_> = &[("objectClass", &["wine"]), ("cn", &["red"])];
        assert_eq!(client.add(RED, wine).code, ObjectClassViolation);
        // And may come again.
        let again = change(client, &[], &[("objectClasses", WINE), taste, ("attributeTypes", SCORE)]);
        assert_eq!(again.code, Success, "{}", again.text);
        client.must_add(
            RED,
            &[("objectClass", &["wine"]), ("cn", &["red"]), ("taste", &["dry"]), ("score", &["5"])],
        );
        assert_eq!(
            client.search("dc=example", Scope::Subtree, "(&(taste=DRY)(score=05))", &["1.1"]).entries.len(),
            1
        );
    });
}

#[test]
fn a_name_in_a_value_is_a_use() {
    each_with_wine(|client| {
        assert_eq!(client.delete(RED).code, Success);
        let group = "cn=tasters,ou=groups,dc=example";
        let of = |member: &str| -> Vec<(&str, Vec<String>)> {
            vec![
                ("objectClass", vec!["groupOfNames".to_owned()]),
                ("cn", vec!["tasters".to_owned()]),
                ("member", vec![member.to_owned()]),
            ]
        };
        for member in ["Taste=dry,dc=example", "cn=x+1.3.6.1.4.1.99999.1.1=dry,dc=example"] {
            let given = of(member);
            let values: Vec<Vec<&str>> =
                given.iter().map(|(_, values)| values.iter().map(String::as_str).collect()).collect();
            let given: Vec<(&str, &[&str])> =
                given.iter().zip(&values).map(|((name, _), values)| (*name, &values[..])).collect();
            client.must_add(group, &given);
            refused(
                &change(client, &[("objectClasses", WINE), ("attributeTypes", TASTE)], &[]),
                UnwillingToPerform,
                &format!("entries use it: the entry {group} has a value of 'member' that names it"),
            );
            assert_eq!(client.delete(group).code, Success);
        }
        // A large set too, and what only looks like it does not count.
        let many: Vec<String> = (0..2000).map(|at| format!("uid=u{at},dc=taste")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        client
            .must_add(group, &[("objectClass", &["groupOfNames"]), ("cn", &["tasters"]), ("member", &many)]);
        assert_eq!(client.modify(group, &[(Add, "member", &["taste=dry,dc=example"])]).code, Success);
        let all = [("objectClasses", WINE), ("attributeTypes", TASTE)];
        assert_eq!(change(client, &all, &[]).code, UnwillingToPerform);
        assert_eq!(client.modify(group, &[(Delete, "member", &["taste=dry,dc=example"])]).code, Success);
        let gone = change(client, &all, &[]);
        assert_eq!(gone.code, Success, "{}", gone.text);
        assert_eq!(
            client.modify(group, &[(Add, "member", &["taste=dry,dc=example"])]).code,
            InvalidAttributeSyntax
        );
    });
}

#[test]
fn a_change_is_made_where_no_entry_is_against_it() {
    each_with_wine(|client| {
        let mut wine = |after: &str, code, text: &str| {
            refused(&change(client, &[("objectClasses", WINE)], &[("objectClasses", after)]), code, text);
        };
        let head = "( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL";
        wine(
            &format!("{head} MUST ( cn $ score ) MAY taste )"),
            ConstraintViolation,
            &format!("entries use it: the entry {RED} of the object class 'wine' lacks 'score'"),
        );
        wine(
            &format!("{head} MUST cn MAY score )"),
            ConstraintViolation,
            &format!(
                "entries use it: the entry {RED} of the object class 'wine' has 'taste', which it would not allow"
            ),
        );
        // It would be another class.
        wine(
            "( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP device STRUCTURAL MAY ( taste $ score ) )",
            UnwillingToPerform,
            &format!("entries use it: the entry {RED} is of the object class 'wine'"),
        );
        let single = "( 1.3.6.1.4.1.99999.1.1 NAME ( 'taste' 'flavour' ) DESC 'one' SUP name SINGLE-VALUE )";
        let one = [("attributeTypes", TASTE)];
        refused(
            &change(client, &one, &[("attributeTypes", single)]),
            ConstraintViolation,
            &format!("entries use it: the entry {RED} has several values of 'taste'"),
        );
        assert_eq!(client.modify(RED, &[(Replace, "taste", &["dry"])]).code, Success);
        let changed = change(client, &one, &[("attributeTypes", single)]);
        assert_eq!(changed.code, Success, "{}", changed.text);
        assert_eq!(client.modify(RED, &[(Add, "flavour", &["long"])]).code, ConstraintViolation);
        assert_eq!(client.search("dc=example", Scope::Subtree, "(flavour=dry)", &["1.1"]).entries.len(), 1);
        assert_eq!(client.modify(RED, &[(Add, "score", &["5"])]).code, Success);
        let all = format!("{head} MUST ( cn $ score $ taste ) MAY l )");
        let changed = change(client, &[("objectClasses", WINE)], &[("objectClasses", &all)]);
        assert_eq!(changed.code, Success, "{}", changed.text);
        assert_eq!(client.modify(RED, &[(Delete, "score", &[])]).code, ObjectClassViolation);
        assert_eq!(client.modify(RED, &[(Add, "l", &["here"])]).code, Success);
    });
}

#[test]
fn what_settings_name_stays() {
    let mut config = common::config();
    let rules = ["tastes: all attrs=taste; users; allow=read".to_owned()];
    config.settings.configured.access.rules = access::parse_all(&rules).expect("it is sound");
    let index = store::IndexSettings::of("score", [store::IndexKind::Equality]);
    config.settings.later_indexes.push(index);
    let schema = common::standard_schema();
    let added = schema::Changes {
        removed: Vec::new(),
        added: [TASTE, SCORE].map(|text| (schema::Element::AttributeType, text.as_bytes())).to_vec(),
    };
    let schema = std::sync::Arc::new(
        schema
            .files()
            .into_iter()
            .fold(schema::Builder::new().standard(), schema::Builder::with_file)
            .build()
            .expect("it is sound"),
    );
    schema.put(schema.plan(&added).expect("they are sound"));
    let mut client = Client::of(&dsa::Dsa::new(config, schema).expect("memory is plenty"));
    client.plant();
    let outcome = change(&mut client, &[("attributeTypes", TASTE)], &[]);
    assert_eq!(outcome.code, UnwillingToPerform);
    assert!(outcome.text.contains("`access.rule`") && outcome.text.contains("taste"), "{}", outcome.text);
    let outcome = change(&mut client, &[("attributeTypes", SCORE)], &[]);
    refused(
        &outcome,
        UnwillingToPerform,
        "settings name what would be removed from the schema, or changed: there is an index on 'score'",
    );
}

/// A class that is removed and added again has another number, and constraints are about what has its name.
#[test]
fn constraints_are_about_what_has_the_name() {
    each_with_wine(|client| {
        assert_eq!(client.delete(RED).code, Success);
        let rule = "name=a values=description max-count=1 class=wine";
        assert_eq!(client.modify("cn=config", &[(Replace, "pandoConstraintsRule", &[rule])]).code, Success);
        let other = WINE.replace("MUST cn", "MUST ( cn $ description )");
        let other = other.replace("SUP top", "SUP device");
        let outcome = change(client, &[("objectClasses", WINE)], &[("objectClasses", &other)]);
        assert_eq!(outcome.code, Success, "{}", outcome.text);
        let wine: Given<'_> = &[("objectClass", &["wine"]), ("description", &["dry", "long"])];
        assert_eq!(client.add(RED, wine).code, ConstraintViolation);
        let changed = change(client, &[("objectClasses", &other)], &[]);
        assert_eq!(changed.code, UnwillingToPerform, "{}", changed.text);
    });
}

#[test]
fn rules_are_enforced_from_then_on() {
    each_with_wine(|client| {
        let content = "( 1.3.6.1.4.1.99999.2.1 NAME 'wineRule' MUST description NOT score )";
        let form = "( 1.3.6.1.4.1.99999.3.1 NAME 'wineForm' OC wine MUST taste )";
        let rules = [("dITContentRules", content), ("nameForms", form)];
        let added = change(client, &[], &rules);
        assert_eq!(added.code, Success, "{}", added.text);
        assert_eq!(shown(client, "dITContentRules", "wineRule") + shown(client, "nameForms", "wineForm"), 2);
        // The entry that was there stays as it is, and may be changed in what the rule is not about.
        assert_eq!(client.modify(RED, &[(Replace, "taste", &["sour"])]).code, Success);
        assert_eq!(client.modify(RED, &[(Add, "score", &["5"])]).code, ObjectClassViolation);
        let name = "cn=white,ou=groups,dc=example";
        let white: Given<'_> =
            &[("objectClass", &["wine"]), ("cn", &["white"]), ("taste", &["dry"]), ("description", &["x"])];
        assert_eq!(client.add(name, white).code, NamingViolation);
        assert_eq!(client.add("taste=dry,ou=groups,dc=example", &white[..3]).code, ObjectClassViolation);
        client.must_add("taste=dry,ou=groups,dc=example", white);
        // What rules name stays.
        let class = change(client, &[("objectClasses", WINE)], &[]);
        assert!(class.text.contains("the content rule 'wineRule'"), "{}", class.text);
        let of_root = "( 1 FORM wineForm )";
        assert_eq!(change(client, &[], &[("dITStructureRules", of_root)]).code, Success);
        let text = change(client, &[("nameForms", form)], &[]).text;
        assert!(text.ends_with("the structure rule 1 names it"), "{text}");
        // With structure rules everything needs one.
        let unit: Given<'_> = &[("objectClass", &["organizationalUnit"])];
        assert_eq!(client.add("ou=more,dc=example", unit).code, NamingViolation);
        let gone = change(client, &[("dITStructureRules", "( 1 FORM wineForm )")], &[]);
        assert_eq!(gone.code, Success, "{}", gone.text);
        client.must_add("ou=more,dc=example", unit);
        let other = "( 1.3.6.1.4.1.99999.2.1 NAME 'wineRule' MAY l )";
        assert_eq!(change(client, &[rules[0], rules[1]], &[("dITContentRules", other)]).code, Success);
        client.must_add(
            name,
            &[("objectClass", &["wine"]), ("cn", &["white"]), ("score", &["5"]), ("l", &["x"])],
        );
        assert_eq!(shown(client, "nameForms", "wineForm"), 0);
    });
}

#[test]
fn what_is_not_there_or_was_not_added_is_refused() {
    each_with_wine(|client| {
        let mut one = |name: &str, text: &str| change(client, &[(name, text)], &[]).code;
        assert_eq!(one("attributeTypes", "( 2.5.4.3 NAME 'cn' SUP name )"), UnwillingToPerform);
        assert_eq!(
            one("objectClasses", "( 2.5.6.0 NAME 'top' ABSTRACT MUST objectClass )"),
            UnwillingToPerform
        );
        assert_eq!(one("attributeTypes", "( 1.2.3.4 NAME 'no' SUP name )"), NoSuchAttribute);
        assert_eq!(one("dITStructureRules", "( 7 FORM wineForm )"), NoSuchAttribute);
        assert_eq!(one("attributeTypes", "taste"), InvalidAttributeSyntax);
        assert_eq!(one("ldapSyntaxes", "( 1.2.3.4 DESC 'x' )"), UnwillingToPerform);
        assert_eq!(one("matchingRuleUse", "( 2.5.13.2 APPLIES cn )"), UnwillingToPerform);
        // It is known by its OID alone, as the equality rule of the attribute says.
        assert_eq!(client.delete(RED).code, Success);
        let gone =
            change(client, &[("objectClasses", "( 1.3.6.1.4.1.99999.2.1 NAME 'other' SUP top )")], &[]);
        assert_eq!(gone.code, Success, "{}", gone.text);
        assert_eq!(change(client, &[("objectClasses", WINE)], &[]).code, NoSuchAttribute);
    });
}
