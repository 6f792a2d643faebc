//! Presence: that an entry has the attribute.

use super::definition::{Assertion, Keys, Kind, Probe, Structure};

/// `(a=*)`, and the last resort of every other assertion on the attribute.
pub(super) struct Presence;

impl Kind for Presence {
    const TEXT: &'static str = "pres";
    const STRUCTURE: Structure = Structure::Ids;

    /// An entry of which anything is true that a filter asserts of an attribute has the attribute.
    fn probe(_: Keys<'_>, _: &Assertion<'_>) -> Option<Probe> {
        Some(Probe::All)
    }
}
