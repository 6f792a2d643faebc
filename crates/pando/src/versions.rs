//! Which versions of the behaviour this program knows: the one place from which all commands have them.

use dsa::behaviour::{NEWEST, OLDEST, Versions};
use node::data::Data;

/// A build with `--cfg pando_next` stands for the next version of this program, where tests upgrade a cluster (`.ci/next`).
pub(crate) const VERSIONS: Versions =
    Versions { oldest: OLDEST, newest: if cfg!(pando_next) { NEWEST + 1 } else { NEWEST } };

/// A data directory, for this program.
pub(crate) fn known(data: Data) -> Data {
    data.knowing(VERSIONS)
}
