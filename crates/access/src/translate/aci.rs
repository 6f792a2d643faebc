//! `aci` of 389 Directory Server and OpenDJ. What an `aci` allows is a rule of rank 1, what it denies one of rank 2: a deny wins.

use super::aci_emit::{close, emit};
use super::aci_text::parse;
use super::lines::records;
use super::translation::Translation;

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
    let with_rules = records.iter().filter(|record| record.of("aci").next().is_some());
    let places: Vec<(u64, &str)> = with_rules
        .map(|record| (record.of("aci").map(|(line, _)| line).next().unwrap_or(0), record.dn.as_str()))
        .collect();
    let is_top = |dn: &str| !places.iter().any(|(_, other)| is_below(dn, other));
    places.iter().filter(|(_, dn)| is_top(dn)).for_each(|(line, dn)| close(*line, dn, &mut done));
    if places.is_empty() && !done.rules.is_empty() {
        done.remark(
            0,
            "nothing was allowed besides: set access.defaults = \"off\", or add a rule that denies the rest",
        );
    }
    done
}

/// Does an entry lie below another?
fn is_below(dn: &str, superior: &str) -> bool {
    let plain = |dn: &str| dn.to_ascii_lowercase().replace(", ", ",");
    plain(dn).ends_with(&format!(",{}", plain(superior)))
}
