//! A test for each sentence of RFC 4512 that binds a server whose schema has content rules, name forms or structure rules: what "must",
//! "may only" and "cannot" be in an entry, how it is named and where it is, and what the subschema shows.
//!
//! [`models`] has the rest of the RFC.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 4.1.6 | lets an entry belong to auxiliary classes that the rule lists, and no others | `s4_1_6_auxiliary_classes` |
//! | 4.1.6 | wants what the rule and the classes require, and takes what either allows | `s4_1_6_attributes` |
//! | 4.1.6 | takes no attribute that the rule precludes | `s4_1_6_precluded` |
//! | 4.1.6 | applies a rule to its structural class, not to classes derived from it, and no obsolete rule | `s4_1_6_which_rule_governs` |
//! | 4.1.7.1 | lets an entry be below those whose rule a rule of its form names, and nowhere else | `s4_1_7_1_superiors` |
//! | 4.1.7.2 | wants a value of each required attribute in the RDN, and others of the allowed ones only | `s4_1_7_2_names` |
//! | 4.1.7 | holds renames to both | `s4_1_7_renames`, `s4_1_7_renames_in_a_transaction` |
//! | 3.4.7 | has the number of the rule in governingStructureRule | `s3_4_7_governing_structure_rule` |
//! | 4.2 | shows content rules in the subschema, and finds them by their OID | `s4_2_content_rules_are_shown` |
//! | 4.2 | shows name forms and structure rules | `s4_2_structure_is_shown` |

mod models;
mod s4_1_6_content_rules;
mod s4_1_7_structure;

use crate::common::{self, Client};
use dsa::Dsa;
use schema::Builder;
use std::sync::Arc;

/// Bound as the root DN, over the small tree, with this in the schema besides the standard files.
fn with(text: &str) -> Client {
    let schema =
        Builder::new().standard().file("test", text).build().unwrap_or_else(|faults| panic!("{faults}"));
    let dsa = Dsa::new(common::config(), Arc::new(schema)).expect("memory is plenty");
    let mut client = Client::of(&dsa);
    client.plant();
    client
}
