//! Fuzz targets as plain functions: each takes any bytes and panics when a promise is broken. The binaries under
//! `fuzz_targets/` hand libFuzzer's bytes to them, `tests/corpus.rs` the committed corpus on stable Rust.

pub mod access_log;
pub mod access_log_file;
pub mod access_rule;
pub mod add_stream;
pub mod binds;
pub mod dn;
pub mod effective_rights;
pub mod filter;
pub mod ldif;
pub mod message;
pub mod oauth_bearer;
pub mod oracle;
pub mod password;
pub mod proxy;
pub mod schema_definition;
pub mod scram;
pub mod session;
pub mod store;
pub mod tls_records;

/// A target: its name, which is also that of its corpus folder and its binary, and its body.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. `tests/corpus.rs` fails when a folder or a binary is missing here, or the other way round.
pub const TARGETS: [Target; 19] = [
    ("access_log", access_log::check),
    ("access_log_file", access_log_file::check),
    ("access_rule", access_rule::check),
    ("add_stream", add_stream::check),
    ("binds", binds::check),
    ("dn", dn::check),
    ("effective_rights", effective_rights::check),
    ("filter_ber", filter::check_ber),
    ("filter_string", filter::check_string),
    ("ldif", ldif::check),
    ("message", message::check),
    ("oauth_bearer", oauth_bearer::check),
    ("password", password::check),
    ("proxy", proxy::check),
    ("schema_definition", schema_definition::check),
    ("scram", scram::check),
    ("session", session::check),
    ("store", store::check),
    ("tls_records", tls_records::check),
];
