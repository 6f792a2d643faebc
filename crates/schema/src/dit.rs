//! Content rules, name forms and structure rules of a schema: few, and read when a set of classes is resolved or a name is judged.

use crate::ContentRule;
use crate::element::NamingRules;
use arc_swap::ArcSwap;
use model::ClassId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Those in force, which are replaced as a whole.
#[derive(Debug)]
pub(crate) struct DitRules {
    now: ArcSwap<Rules>,
    /// Beside them, for each add and rename asks.
    has_forms: AtomicBool,
    has_rules: AtomicBool,
}

/// All of them at one time.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// In the order in which they were read; an obsolete one is not in force.
    pub(crate) content: Vec<ContentRule>,
    pub(crate) naming: NamingRules,
}

impl Rules {
    /// The content rule that governs entries of a structural class, if one is in force.
    pub(crate) fn content_rule(&self, structural: ClassId) -> Option<&ContentRule> {
        self.content.iter().find(|rule| rule.class == structural && !rule.definition.obsolete)
    }
}

impl DitRules {
    pub(crate) fn new(content: Vec<ContentRule>, naming: NamingRules) -> DitRules {
        let rules = DitRules {
            now: ArcSwap::default(),
            has_forms: AtomicBool::new(false),
            has_rules: AtomicBool::new(false),
        };
        rules.set(content, naming);
        rules
    }

    pub(crate) fn set(&self, content: Vec<ContentRule>, naming: NamingRules) {
        let (has_forms, has_rules) = (naming.has_forms, naming.has_rules);
        self.now.store(Arc::new(Rules { content, naming }));
        self.has_forms.store(has_forms, Ordering::Release);
        self.has_rules.store(has_rules, Ordering::Release);
    }

    /// Those in force.
    pub(crate) fn now(&self) -> Arc<Rules> {
        self.now.load_full()
    }

    /// Are there name forms that are not obsolete?
    #[inline]
    pub(crate) fn has_forms(&self) -> bool {
        self.has_forms.load(Ordering::Acquire)
    }

    /// Are there structure rules that are not obsolete?
    #[inline]
    pub(crate) fn has_rules(&self) -> bool {
        self.has_rules.load(Ordering::Acquire)
    }
}
