//! What an administrator chose of access control.

use crate::limit::LimitRule;
use crate::rule::Rule;

/// The settings of access control that can be changed while the server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Rules of the configuration.
    pub rules: Vec<Rule>,
    /// Do the built-in rules hold besides?
    pub defaults: bool,
    /// From when on a changed rule, group or own entry holds for a session.
    pub refresh: Refresh,
    /// What requesters may take of the server: the first that fits decides.
    pub limits: Vec<LimitRule>,
    /// Are groups in groups followed for memberOf? Rules say for themselves whether they are.
    pub nested_groups: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            rules: Vec::new(),
            defaults: true,
            refresh: Refresh::default(),
            limits: Vec::new(),
            nested_groups: false,
        }
    }
}

/// From when on a changed rule, group or own entry holds for a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refresh {
    /// From its next bundle of requests on.
    #[default]
    AtOnce,
    /// When it binds again.
    Bind,
}

impl Refresh {
    /// Each with its word.
    pub const WORDS: [(&'static str, Refresh); 2] = [("at-once", Refresh::AtOnce), ("bind", Refresh::Bind)];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Refresh::AtOnce => "at-once",
            Refresh::Bind => "bind",
        }
    }
}
