//! Controls and extended operations of other RFCs than RFC 4511: a test for each MUST and SHALL that a server can break,
//! named by RFC and section, through a session in bytes.

#[path = "../common/mod.rs"]
mod common;

mod change_log;
mod change_numbers;
mod dereference;
mod domain_scope;
mod no_op;
mod permissive_modify;
mod persistent_search;
mod queue_length;
mod relax_rules;
mod rfc2589_dynamic_entries;
mod rfc2696_paged_results;
mod rfc2891_sort;
mod rfc3062_password_modify;
mod rfc3296_named_references;
mod rfc3672_subentries;
mod rfc3866_language_options;
mod rfc3876_matched_values;
mod rfc4370_proxied_authorization;
mod rfc4525_to_4532;
mod rfc4527_read_entry;
mod rfc4528_assertion;
mod rfc4533_content_sync;
mod rfc6171_dont_use_copy;
mod session_tracking;
mod tree_delete;
mod virtual_list_view;

use common::Client;
use proto::op::ModifyKind;

/// Changes of a modify.
type Changes<'a> = &'a [(ModifyKind, &'a str, &'a [&'a str])];

/// Of a directory without a log, and of one with a log.
fn clients() -> [Client; 2] {
    let mut logged = common::journal::journaled().0;
    logged.plant();
    [Client::new(), logged]
}

/// Every test that the table of a file names is there, and no test of the file is missing from it. A name that begins with another one's
/// belongs to its line.
fn check_table(file: &str) {
    let tests = file.split("#[test]\nfn ").skip(1);
    let tests: Vec<&str> =
        tests.filter_map(|rest| rest.split('(').next()).filter(|name| name.starts_with('s')).collect();
    let lines = file.lines().filter(|line| line.starts_with("//! |"));
    let named: Vec<&str> = lines
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|name| name.starts_with('s') && name.contains('_'))
        .map(|name| name.trim_end_matches('*'))
        .collect();
    for test in &tests {
        assert!(named.iter().any(|name| test.starts_with(name)), "{test} is not in the table");
    }
    for name in named {
        assert!(tests.iter().any(|test| test.starts_with(name)), "{name} is not a test");
    }
}
