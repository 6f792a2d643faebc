//! What a session is offered of what the server can do. Some of it depends on what protects the connection and on what is known of the
//! client before it binds, so the root DSE differs from session to session.

use std::ops::BitOr;

/// A set of conditions that hold for a session, or that something needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer(u8);

impl Offer {
    /// Of what the server does by itself.
    pub(crate) const NOTHING: Offer = Offer(0);
    /// The connection can be secured.
    pub(crate) const START_TLS: Offer = Offer(1);
    /// A password may pass.
    pub(crate) const PASSWORD: Offer = Offer(2);
    /// What lies below the session knows who the client is.
    pub(crate) const IDENTITY: Offer = Offer(4);
    /// There is a channel below the session that a proof can be bound to.
    pub(crate) const BINDING: Offer = Offer(8);
    /// How many different ones there are.
    pub(crate) const COUNT: usize = 16;

    /// Every one.
    pub(crate) fn all() -> impl Iterator<Item = Offer> {
        (0..Offer::COUNT as u8).map(Offer)
    }

    /// This one where something is so, else nothing.
    pub(crate) fn when(self, is_so: bool) -> Offer {
        if is_so { self } else { Offer::NOTHING }
    }

    /// Is all of another among it?
    pub(crate) fn has(self, other: Offer) -> bool {
        self.0 & other.0 == other.0
    }

    /// A number below [`Offer::COUNT`].
    pub(crate) fn number(self) -> usize {
        usize::from(self.0)
    }
}

impl BitOr for Offer {
    type Output = Offer;

    fn bitor(self, other: Offer) -> Offer {
        Offer(self.0 | other.0)
    }
}
