//! Controls and extended operations of other RFCs than RFC 4511: a test for each MUST and SHALL that a server can break,
//! named by RFC and section, through a session in bytes.

#[path = "../common/mod.rs"]
mod common;

mod change_log;
mod change_numbers;
mod collective_model;
mod dereference;
mod domain_scope;
mod no_op;
mod not_followed;
mod permissive_modify;
mod persistent_search;
mod queue_length;
mod relax_rules;
mod rfc2589_dynamic_entries;
mod rfc2696_paged_results;
mod rfc2891_sort;
mod rfc3062_password_modify;
mod rfc3296_named_references;
mod rfc3671_collective_attributes;
mod rfc3672_subentries;
mod rfc3866_language_options;
mod rfc3876_matched_values;
mod rfc3909_cancel;
mod rfc4370_proxied_authorization;
mod rfc4525_to_4532;
mod rfc4527_read_entry;
mod rfc4528_assertion;
mod rfc4531_turn;
mod rfc4533_content_sync;
mod rfc6171_dont_use_copy;
mod session_tracking;
mod slow_consumers;
mod stored_changes;
mod tree_delete;
mod values;
mod virtual_list_view;

use common::{Client, check_table};
use proto::op::ModifyKind;

/// Changes of a modify.
type Changes<'a> = &'a [(ModifyKind, &'a str, &'a [&'a str])];

/// Of a directory without a log, and of one with a log.
fn clients() -> [Client; 2] {
    let mut logged = common::journal::journaled().0;
    logged.plant();
    [Client::new(), logged]
}

/// A table with a test that is not there is found, and so is a test of a rule without a row.
#[test]
fn a_table_that_is_wrong_is_found() {
    let table = |row: &str| {
        format!("//! | section | test |\n//! |---|---|\n//! | 1 | {row} |\n\n#[test]\nfn s1_it_is() {{}}\n")
    };
    check_table(&table("`s1_it_is`"));
    check_table(&table("`s1_*`, `dsa: a_table_that_is_wrong_is_found`"));
    for wrong in [
        "`s1_it_is_not`",
        "`s1_it_is`, `s2_it_is`",
        "`dsa: a_table_that_is_right`",
        "`s1_it_is`, `proto: nonsense_*`",
        "",
    ] {
        let table = table(wrong);
        assert!(std::panic::catch_unwind(|| check_table(&table)).is_err(), "{wrong}");
    }
}
