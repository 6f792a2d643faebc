//! One test per MUST, MUST NOT, SHALL and SHALL NOT of RFC 4511 sections 4 to 6 that concerns a server. A test is named after the section; its comment says the sentence in short.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 4 | ignores trailing components that it does not know | `s4_trailing_components_are_ignored` |
//! | 4 | takes a client that did not bind for version 3 | `s4_no_bind_means_version_3` |
//! | 4.1.1 | ends the session at once when the envelope cannot be read | `s4_1_1_broken_envelopes_end_the_session` |
//! | 4.1.1 | answers protocolError to what it cannot parse otherwise | `s4_1_1_unparsable_requests_are_protocol_errors` |
//! | 4.1.1.1 | has requests with non-zero ids only; zero is for unsolicited notifications | `s4_1_1_1_zero_is_no_id_of_a_request` |
//! | 4.1.1.1 | answers with the id of the request | `s4_1_1_1_answers_carry_the_id` |
//! | 4.1.7 | has no two equivalent values in an attribute | `s4_1_7_no_two_equivalent_values` |
//! | 4.1.9 | leaves diagnosticMessage empty when it has nothing to say; matchedDN too | `s4_1_9_nothing_to_say_is_empty` |
//! | 4.1.9 | names the last entry found on the way to the target | `s4_1_9_matched_dn_is_the_nearest_entry` |
//! | 4.1.9 | sends texts that can be shown, and no secrets in them | `s4_1_9_texts_...` |
//! | 4.1.10 | sends a referral with no other code than referral | `s4_1_10_no_referral_without_its_code` |
//! | 4.1.10 | escapes in URIs, says which DN and scope to go on with | `s4_1_10_referrals` |
//! | 4.1.10 | refers to another server what is in none of its naming contexts, if it knows one | `s4_1_10_default_referrals` |
//! | 4.1.11 | ignores the criticality of controls of unbind | `s4_1_11_unbind_has_no_criticality` |
//! | 4.1.11 | neither does nor hides what has a critical control it does not know | `s4_1_11_unknown_critical_controls` |
//! | 4.1.11 | the same for a control that does not suit the operation | `s4_1_11_unsuitable_critical_controls` |
//! | 4.1.11 | ignores other controls that it does not know or that do not suit | `s4_1_11_other_controls_are_ignored` |
//! | 4.1.11 | takes any bytes as controlValue | `s4_1_11_any_control_value` |
//! | 4.1.11 | takes a control that it knows once | `s4_1_11_controls_are_there_once` |
//! | 4.2 | answers protocolError to a version that it does not speak | `s4_2_other_versions` |
//! | 4.2 | does not dereference aliases when it looks for who binds | `s4_2_aliases_do_not_bind` |
//! | 4.2 | answers authMethodNotSupported to other choices; takes passwords as they are | `s4_2_unknown_choices`, `s4_2_passwords_are_not_altered` |
//! | 4.2.1 | completes or abandons what is in progress before it binds | `s4_2_1_bind_ends_what_is_in_progress` |
//! | 4.2.1 | authMethodNotSupported for an empty SASL mechanism | `s4_2_1_empty_sasl_mechanism` |
//! | 4.2.1 | forgets earlier binds, whatever becomes of the new one | `s4_2_1_earlier_binds_are_forgotten` |
//! | 4.2.2 | sends no serverSaslCreds for a simple bind | `s4_2_2_no_server_credentials` |
//! | 4.3 | ends the session without an answer | `s4_3_*` |
//! | 4.4 | id zero, responseName, no value | `s4_4_1_notice_of_disconnection` |
//! | 4.5.1.1 - 4.5.1.6 | scopes, limits, typesOnly | `s4_5_1_2_*`, `s4_5_1_4_*`, `s4_5_1_5_*`, `s4_5_1_6_*` |
//! | 4.5.1.3 | follows aliases as asked, detects loops | `s4_5_1_3_*` |
//! | 4.5.1.7 | evaluates with three values | `s4_5_1_7_three_values` |
//! | 4.5.1.7 | returns no error for what it does not recognise or what is invalid | `s4_5_1_7_undefined_filters_are_no_errors`, `s4_5_1_7_bounds` |
//! | 4.5.1.7.2 | one initial at the front, one final at the end | `s4_5_1_7_2_order_of_substrings` |
//! | 4.5.1.7.3 | ordering and approximate matches | `s4_5_1_7_3_ordering` |
//! | 4.5.1.7.7 | without a rule the type is there and equality counts | `s4_5_1_7_7_*` |
//! | 4.5.1.8 | attribute selection | `s4_5_1_8_*` |
//! | 4.5.2, 4.5.3 | entries, then one end; no references without a base | `s4_5_2_*`, `s4_5_3_*` |
//! | 4.6 | all changes in order, at once or not at all; only the result must conform | `s4_6_*` |
//! | 4.6 - 4.10 | does not dereference aliases | `s4_6_*`, `s4_7_*`, `s4_8_*`, `s4_9_*`, `s4_10_aliases_...` |
//! | 4.7 | new entries conform, are new, have a parent, have no attributes of the server's own | `s4_7_*` |
//! | 4.8 | leaves only | `s4_8_leaves_only` |
//! | 4.9 | the entry conforms afterwards, newSuperior exists | `s4_9_*` |
//! | 4.10 | says true, false, or why neither | `s4_10_answers` |
//! | 4.11 | stops at once, sends no end, only whole messages; ignores what it cannot abandon | `s4_11_*` |
//! | 4.12 | takes any bytes as requestValue | `s4_12_*` |
//! | 4.13 | sends no intermediate response that no control or operation asks for | `s4_13_nothing_unsolicited` |
//! | 4.13.2 | sends those of a control with their name | `dsa: rfc4533_s3_4_1_the_end_of_the_refresh` |
//! | 4.14.1 | operationsError to a StartTLS out of sequence, protocolError without TLS or with a value | `black-box: test_t2_start_tls_is_refused_where_it_must_be`, `dsa: s9_between_steps` |
//! | 4.14.2 | answers StartTLS with its name and without a value | `black-box: test_t2_a_session_is_anonymous_after_it_and_the_root_dse_differs` |
//! | 4.14.3 | answers a closure alert with one, and closes the connection | `black-box: test_t2_the_end_of_tls_is_the_end_of_the_connection` |
//! | 5.1 | sends definite lengths, primitive strings, FF for TRUE, and no default values | `s5_1_what_is_sent` |
//! | 5.1, 6 | takes what the rules of BER allow, and survives what they do not | `black-box: test_malformed`, `black-box: test_mutations`, `dsa: noise_is_survived` |
//! | 5.2 | maps messages onto the stream of TCP, wherever that is cut | `server: messages_are_answered_whole_split_and_many_at_once`, `black-box: test_one_byte_at_a_time` |
//! | 5.3, 3.1 | completes or gives up what a closed connection has left, without an answer | `server: searches_of_a_client_that_is_gone_end`, `server: requests_of_a_connection_that_was_reset_are_not_applied` |
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 4.1.1.1 | no id twice in progress; "otherwise the behaviour is undefined" | binds clients |
//! | 4.1.5 | values of unknown syntax are not displayed; clients send valid values | binds clients |
//! | 4.1.7, 4.1.9 | no reliance on the order of values, on diagnosticMessage | binds clients |
//! | 4.1.10, 4.5.3 | clients follow URIs and detect loops | binds clients |
//! | 4.2.1 | no PDUs while binding, none within a SASL negotiation | binds clients; what comes in between is refused, in s9_between_steps |
//! | 4.5.1.7 | 'and' and 'or' have elements | RFC 4526 lifts that: absolute true and false |
//! | 4.6 | LDAP to DAP gateways | this is none |
//! | 4.11 | clients must expect answers to what they abandoned | binds clients |
//! | 4.14.1, 4.14.3 | no PDUs behind a StartTLS, none behind a closure alert before the other one | binds clients; what comes is not interpreted, in test_t3_nothing_behind_start_tls_is_interpreted |
//! | 6 | caches maintain access controls | binds caches of clients |

#[path = "../common/mod.rs"]
mod common;

mod s4_10_compare;
mod s4_11_abandon;
mod s4_12_extended;
mod s4_1_9_results;
mod s4_1_messages;
mod s4_2_bind;
mod s4_3_unbind;
mod s4_4_unsolicited;
mod s4_5_filter;
mod s4_5_search;
mod s4_5_special_entries;
mod s4_6_modify;
mod s4_7_add;
mod s4_8_delete;
mod s4_9_modify_dn;
mod s5_1_encoding;

/// Every test that the table names is there, and no test is missing from it.
#[test]
fn the_table_is_complete() {
    let table: &str = include_str!("main.rs");
    common::check_elsewhere(table);
    let files = [
        include_str!("s4_10_compare.rs"),
        include_str!("s4_11_abandon.rs"),
        include_str!("s4_12_extended.rs"),
        include_str!("s4_1_9_results.rs"),
        include_str!("s4_1_messages.rs"),
        include_str!("s4_2_bind.rs"),
        include_str!("s4_3_unbind.rs"),
        include_str!("s4_4_unsolicited.rs"),
        include_str!("s4_5_search.rs"),
        include_str!("s4_5_filter.rs"),
        include_str!("s4_5_special_entries.rs"),
        include_str!("s4_6_modify.rs"),
        include_str!("s4_7_add.rs"),
        include_str!("s4_8_delete.rs"),
        include_str!("s4_9_modify_dn.rs"),
        include_str!("s5_1_encoding.rs"),
    ];
    let tests: Vec<&str> = files
        .iter()
        .flat_map(|file| file.split("#[test]\nfn ").skip(1))
        .map(|rest| &rest[..rest.find('(').expect("a function has parameters")])
        .collect();
    let named: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("//! |"))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|name| name.starts_with("s4") || name.starts_with("s5"))
        .collect();
    let covers = |name: &str, test: &str| match name.split_once('*') {
        Some((begin, _)) => test.starts_with(begin),
        None => test.starts_with(name.trim_end_matches("...")),
    };
    for test in &tests {
        assert!(named.iter().any(|name| covers(name, test)), "{test} is not in the table");
    }
    for name in named {
        assert!(tests.iter().any(|test| covers(name, test)), "{name} is not a test");
    }
}
