//! `aci` of 389 Directory Server and OpenDJ. What an `aci` allows is a rule of rank 1, what it denies one of rank 2: a deny wins.

use super::aci_emit::{close, emit};
use super::aci_text::parse;
use super::lines::records;
use super::translation::Translation;
use std::collections::{BTreeMap, BTreeSet};

/// Attributes with rules, and whether the entry that they stand in is their place.
const ATTRIBUTES: [(&str, bool); 2] = [("aci", true), ("ds-cfg-global-aci", false)];

pub(super) fn translate(text: &str, is_opendj: bool) -> Translation {
    let mut done = Translation::default();
    let records = match records(text) {
        Ok(records) => records,
        Err((line, why)) => {
            done.leave(line, "the file", &why);
            return done;
        }
    };
    for record in &records {
        for (attribute, is_placed) in ATTRIBUTES {
            for (line, value) in record.of(attribute) {
                match parse(value) {
                    Ok(aci) => {
                        emit(line, &aci, is_placed.then_some(record.dn.as_str()), is_opendj, &mut done)
                    }
                    Err(why) => done.leave(line, value, &why),
                }
            }
        }
    }
    // What no `aci` is about is denied, from the highest entry of the file on that is above one with rules, or is one: an export begins with the suffix.
    let names: BTreeMap<String, &str> =
        records.iter().map(|record| (plain(&record.dn), &record.dn[..])).collect();
    let with_rules = records.iter().filter(|record| record.of("aci").next().is_some());
    let places: Vec<(u64, String)> = with_rules
        .map(|record| (record.of("aci").map(|(line, _)| line).next().unwrap_or(0), plain(&record.dn)))
        .collect();
    let mut closed = BTreeSet::new();
    for (line, place) in &places {
        let superiors = std::iter::successors(Some(&place[..]), |dn| superior(dn));
        let top = superiors.filter_map(|dn| names.get(dn)).last().expect("it is there itself");
        if closed.insert(*top) {
            close(*line, top, &mut done);
        }
    }
    if places.is_empty() && !done.rules.is_empty() {
        done.remark(
            0,
            "nothing was allowed besides: set access.defaults = \"off\", or add a rule that denies the rest",
        );
    }
    done
}

/// A name as it is compared.
fn plain(dn: &str) -> String {
    dn.to_ascii_lowercase().replace(", ", ",")
}

fn superior(dn: &str) -> Option<&str> {
    let (_, rest) = model::dn::split_first(dn.as_bytes());
    rest.and_then(|rest| std::str::from_utf8(rest).ok())
}
