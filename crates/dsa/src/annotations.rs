//! What the access log cannot see in the bytes of an answer: how many entries a search has looked at, whether it lacked an index, and which rule
//! refused a request. It is kept by the thread until the log has taken it, which is at once when a bundle or a slice of work is over.
//!
//! Nothing is kept before somebody wants to know. Nearly all searches look at what they return, and have nothing to add.

/// More are not kept: a bundle with so many searches that look far does not fit into its work.
const ANNOTATIONS_MAX: usize = 256;

/// What is known of an operation besides its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotation {
    /// messageID of its request.
    pub id: i32,
    /// Entries that a search has looked at, if that is another number than that of those it has returned.
    pub looked: Option<u32>,
    /// A search lacked an index.
    pub is_unindexed: bool,
    /// Name of the access rule that refused it; empty if none did.
    pub rule: String,
}

/// Those of a thread.
#[derive(Debug, Default)]
pub(crate) struct Annotations {
    is_wanted: bool,
    kept: Vec<Annotation>,
    /// The rule of the last refusal, until it is known whose that is.
    rule: Option<String>,
}

impl Annotations {
    /// They are kept from now on.
    pub(crate) fn open(&mut self) {
        self.is_wanted = true;
    }

    /// None are kept from now on.
    pub(crate) fn close(&mut self) {
        *self = Annotations::default();
    }

    /// Does somebody want to know?
    #[inline]
    pub(crate) fn are_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Those that were kept.
    pub(crate) fn kept(&self) -> &[Annotation] {
        &self.kept
    }

    /// They were taken.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }

    /// A search is over that has looked at so many entries.
    #[cold]
    pub(crate) fn looked(&mut self, id: i32, entries: u64, is_unindexed: bool) {
        let looked = Some(u32::try_from(entries).unwrap_or(u32::MAX - 1));
        self.keep(Annotation { id, looked, is_unindexed, rule: String::new() });
    }

    /// A rule has refused what is looked at now.
    #[cold]
    pub(crate) fn refused_by(&mut self, rule: Option<&str>) {
        self.rule = rule.filter(|_| self.is_wanted).map(str::to_owned);
    }

    /// That refusal is the answer to this request.
    #[cold]
    pub(crate) fn is_of(&mut self, id: i32) {
        if let Some(rule) = self.rule.take() {
            self.keep(Annotation { id, rule, ..Annotation::default() });
        }
    }

    /// Notes what comes with an answer, if the client wants to know and there is room. What has none is left out.
    fn keep(&mut self, annotation: Annotation) {
        if self.is_wanted && self.kept.len() < ANNOTATIONS_MAX {
            self.kept.push(annotation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wants_is_not_kept() {
        let mut annotations = Annotations::default();
        let note = |annotations: &mut Annotations| {
            annotations.looked(1, 7, true);
            annotations.refused_by(Some("near"));
            annotations.is_of(2);
            // A rule is noted once.
            annotations.is_of(3);
        };
        note(&mut annotations);
        assert_eq!(annotations.kept(), []);
        annotations.open();
        note(&mut annotations);
        let refused = Annotation { id: 2, rule: "near".to_owned(), ..Annotation::default() };
        let looked = Annotation { id: 1, looked: Some(7), is_unindexed: true, ..Annotation::default() };
        assert_eq!(annotations.kept(), [looked, refused]);
        (0..ANNOTATIONS_MAX as i32).for_each(|id| annotations.looked(id, u64::MAX, false));
        assert_eq!(annotations.kept().len(), ANNOTATIONS_MAX);
        annotations.clear();
        assert_eq!(annotations.kept(), []);
    }
}
