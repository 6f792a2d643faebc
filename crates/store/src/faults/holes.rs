//! Faults that one test each finds (`xtask/holes.toml`). They are no part of [`super::ALL`], for no property of the simulator is about them.

env::faults! {
    /// What the server keeps of an entry for itself is reported to those who follow changes (row Y8).
    /// Each bind would be sent to every consumer.
    KEPT_IS_AN_EVENT = "kept-is-an-event";
    /// What the server keeps of an entry for itself gives it the time of a change (row Y8).
    /// Each bind would change entryCSN and modifyTimestamp, and who compares entries by these would read them all again.
    KEPT_IS_A_CHANGE = "kept-is-a-change";
}
