//! What a client has on its way.

/// See the module.
pub(super) struct Sent {
    /// The replica that it was sent to.
    pub(super) to: usize,
    /// The updates, as the log has them. They set the client's counter, so no others are the same.
    pub(super) updates: Vec<u8>,
    /// The message that sets it.
    pub(super) last: usize,
}
