//! For which accounts a policy holds that their entries do not name: those of a subtree, of a group, or that a filter is true of.

use crate::settings::words;
use std::fmt;

/// A policy and the accounts that it holds for. All that is named must be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// DN of the policy.
    pub policy: String,
    /// DN of the entry that they are, or lie below.
    pub subtree: Option<String>,
    /// A filter that is true of them.
    pub filter: Option<String>,
    /// DN of a group that they belong to, also by groups in it.
    pub group: Option<String>,
}

impl PolicyRule {
    /// Reads `policy=DN subtree=DN filter=FILTER group=DN`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<PolicyRule, String> {
        let (mut policy, mut subtree, mut filter, mut group) = (None, None, None, None);
        for (name, value) in words::parse(line)? {
            match &name[..] {
                "policy" => policy = Some(value),
                "subtree" => subtree = Some(value),
                "group" => group = Some(value),
                "filter" => {
                    proto::filter_string::parse(value.as_bytes())
                        .map_err(|error| format!("`{value}`: {error}"))?;
                    filter = Some(value);
                }
                _ => return Err(format!("`{name}` is none of `policy`, `subtree`, `filter` and `group`")),
            }
        }
        let policy = policy.ok_or("`policy` is needed: the DN of an entry of class pwdPolicy")?;
        if subtree.is_none() && filter.is_none() && group.is_none() {
            return Err(
                "a `subtree`, a `filter` or a `group` is needed; `passwords.default-policy` is for all"
                    .to_owned(),
            );
        }
        Ok(PolicyRule { policy, subtree, filter, group })
    }
}

/// As it is read.
impl fmt::Display for PolicyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        words::put(&mut line, "policy", &self.policy);
        let all = [("subtree", &self.subtree), ("filter", &self.filter), ("group", &self.group)];
        for (name, value) in all.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            words::put(&mut line, name, value);
        }
        f.write_str(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_back() {
        let line = "policy=\"cn=p,dc=x\" subtree=\"ou=a,dc=x\" filter=(l=Bonn) group=\"cn=g,dc=x\"";
        assert_eq!(PolicyRule::parse(line).unwrap().to_string(), line);
        for (line, said) in [
            ("policy=cn=p", "`passwords.default-policy` is for all"),
            ("group=cn=g", "`policy` is needed"),
            ("policy=cn=p filter=(l=", "`(l=`"),
            ("policy=cn=p who=cn=x", "`who` is none of"),
        ] {
            let fault = PolicyRule::parse(line).unwrap_err();
            assert!(fault.contains(said), "{line}: {fault}");
        }
    }
}
