//! What a policy asks of new passwords besides their length and their age.

/// How good they must be. Each is asked for by an attribute of the class pandoPwdQuality.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quality {
    /// Kinds of characters, at least.
    pub(crate) min_classes: u8,
    /// How hard they are to guess, at least.
    pub(crate) min_score: u8,
    /// Whether names of the user are refused.
    pub(crate) not_names: bool,
    /// Whether words of the dictionary are.
    pub(crate) dictionary: bool,
}

impl Quality {
    /// Any.
    pub(crate) const ANY: Quality =
        Quality { min_classes: 0, min_score: 0, not_names: false, dictionary: false };

    /// Must names of the user be known to judge by it?
    pub(crate) fn needs_names(&self) -> bool {
        self.not_names || self.min_score > 0
    }
}
