//! Three-valued logic: what can be evaluated is true or false.

/// The answer to a question that may have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It is not so.
    False,
    /// It cannot be evaluated.
    Undefined,
    /// It is so.
    True,
}

impl Truth {
    /// Of a question that has an answer.
    pub fn of(is_so: bool) -> Truth {
        if is_so { Truth::True } else { Truth::False }
    }

    /// Of one that has an answer, or none.
    pub fn of_option(is_so: Option<bool>) -> Truth {
        is_so.map_or(Truth::Undefined, Truth::of)
    }

    /// All of these: false if one is, else undefined if one is.
    pub fn all(truths: impl IntoIterator<Item = Truth>) -> Truth {
        truths.into_iter().fold(Truth::True, |sum, truth| match (sum, truth) {
            (Truth::False, _) | (_, Truth::False) => Truth::False,
            (Truth::Undefined, _) | (_, Truth::Undefined) => Truth::Undefined,
            (Truth::True, Truth::True) => Truth::True,
        })
    }

    /// Any of these: true if one is, else undefined if one is.
    pub fn any(truths: impl IntoIterator<Item = Truth>) -> Truth {
        Truth::all(truths.into_iter().map(Truth::negated)).negated()
    }

    /// The opposite. Of what is undefined it is undefined.
    pub fn negated(self) -> Truth {
        match self {
            Truth::False => Truth::True,
            Truth::Undefined => Truth::Undefined,
            Truth::True => Truth::False,
        }
    }
}
