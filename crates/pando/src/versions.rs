//! Which versions of the behaviour this program knows: the one place from which all commands have them.

use dsa::behaviour::{NEWEST, OLDEST, Versions};
use node::data::Data;

/// The program `pando-next` stands for the next version of this one, where tests upgrade a cluster: it knows one behaviour more.
const IS_NEXT: bool = matches!(env!("CARGO_BIN_NAME").as_bytes(), b"pando-next");

/// Those of this program.
pub(crate) const VERSIONS: Versions = Versions { oldest: OLDEST, newest: NEWEST + IS_NEXT as u32 };

/// A data directory, for this program.
pub(crate) fn known(data: Data) -> Data {
    data.knowing(VERSIONS)
}
