//! Elective features (RFC 3674) of this server's own. Their OIDs are UUIDs under 2.25 (ITU-T X.667), fixed for ever.

/// A client may choose a transaction's identifier, and the first update that names it begins the transaction.
pub const IMPLICIT_BEGIN: &str = "2.25.11962057871815689572094494889750039990";

/// An update belongs to the transaction that its session has open, without saying so.
pub const IMPLICIT_MEMBERSHIP: &str = "2.25.196509000214497715012245139089254062118";
