//! The `pando` binary: one file per subcommand.
fn main() {}
