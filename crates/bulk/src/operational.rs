//! Operational attributes on their way out of one directory and into another.

/// What becomes of operational attributes that only a server changes, such as entryUUID and createTimestamp. Those
/// that are worked out anew for every answer (structuralObjectClass, hasSubordinates, ...) are never stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operational {
    /// They are kept as they stand.
    #[default]
    Keep,
    /// They are left out; the entries get new ones. So is what other servers keep for themselves, or translated where it locks or ends an
    /// account.
    Strip,
    /// They are kept, nsUniqueId becomes entryUUID where there is none, and what other servers keep for themselves is left
    /// out, or translated where it locks or ends an account.
    Map,
}

/// What an import makes of an attribute that it does not take as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// Left out, always: this server works it out itself.
    Derived,
    /// Another server's own: left out unless operational attributes are kept as they stand. Why, for a report.
    Own(&'static str),
    /// Another server's entryUUID: likewise, but kept under that name when they are mapped.
    Uuid,
    /// Whether an account is locked: likewise, but `true` becomes a pwdAccountLockedTime that no time ends. It does so too when operational
    /// attributes are stripped, for else a locked account could be used.
    Lock,
    /// When an account ends: likewise, but it becomes pwdEndTime, also when they are stripped.
    End,
    /// Former passwords: likewise, but they become values of pwdHistory when they are mapped.
    History,
}

/// `pwdAccountLockedTime` of an account that is locked until an administrator ends it.
pub(crate) const LOCKED: &[u8] = b"000001010000Z";
/// The attribute that has it.
pub(crate) const LOCKED_TIME: &[u8] = b"pwdAccountLockedTime";

/// The attribute that has the end of an account.
pub(crate) const END_TIME: &[u8] = b"pwdEndTime";

/// Why an attribute of another server is left out that means nothing here.
pub(crate) const OWN: &str = "the other server's own";

/// All of them, without regard to case. contextCSN is bookkeeping of a provider of content synchronisation (RFC 4533), in
/// exports of whole databases.
const FOREIGN: &[(Foreign, &[&str])] = &[
    (
        Foreign::Derived,
        &[
            "collectiveAttributeSubentries",
            "contextCSN",
            "entryDN",
            "entryUSN",
            "governingStructureRule",
            "hasSubordinates",
            "isMemberOf",
            "memberOf",
            "numSubordinates",
            "structuralObjectClass",
            "subschemaSubentry",
        ],
    ),
    (Foreign::Uuid, &["nsUniqueId"]),
    (Foreign::Lock, &["ds-pwp-account-disabled", "nsAccountLock"]),
    (Foreign::End, &["ds-pwp-account-expiration-time"]),
    (Foreign::History, &["passwordHistory"]),
    (Foreign::Own("access rules: pando access translate makes rules of them"), &["aci"]),
    // 389 Directory Server and its kin.
    (
        Foreign::Own(OWN),
        &[
            "accountUnlockTime",
            "copiedFrom",
            "copyingFrom",
            "dncomp",
            "dsEntryDN",
            "entryid",
            "ldapSchemas",
            "nsBackendSuffix",
            "nscpEntryDN",
            "nsds5ReplConflict",
            "nsParentUniqueId",
            "nsRole",
            "nsTombstoneCSN",
            "parentid",
            "passwordAllowChangeTime",
            "passwordExpirationTime",
            "passwordExpWarned",
            "passwordGraceUserTime",
            "passwordRetryCount",
            "retryCountResetTime",
            "tombstoneNumSubordinates",
        ],
    ),
    // OpenDJ, Oracle Unified Directory and PingDirectory.
    (
        Foreign::Own(OWN),
        &[
            "ds-entry-checksum",
            "ds-entry-unique-id",
            "ds-sync-conflict",
            "ds-sync-generation-id",
            "ds-sync-hist",
            "ds-sync-state",
        ],
    ),
    (
        Foreign::Own("the state of log-ins and of password policies there"),
        &[
            "ds-pta-cached-password",
            "ds-pta-cached-password-time",
            "ds-pwp-last-login-time",
            "ds-pwp-password-changed-by-required-time",
            "ds-pwp-password-expiration-time",
            "ds-pwp-reset-time",
            "ds-pwp-warned-time",
        ],
    ),
    (
        Foreign::Own("password policies: write policies, and name them in pwdPolicySubentry"),
        &["ds-pwp-password-policy-dn"],
    ),
    (Foreign::Own("privileges: access rules allow what they allow"), &["ds-privilege-name"]),
    (
        Foreign::Own("limits of clients: rules of [[limits.rule]] have them"),
        &["ds-rlim-idle-time-limit", "ds-rlim-lookthrough-limit", "ds-rlim-size-limit", "ds-rlim-time-limit"],
    ),
];

/// Options that tell when a value was changed, in exports of 389 Directory Server with the state of replication.
const STATE_OPTIONS: [&[u8]; 4] = [b"adcsn-", b"mdcsn-", b"vdcsn-", b"vucsn-"];
/// Options of what was deleted but is still known, there.
const DELETED_OPTIONS: [&[u8]; 2] = [b"deleted", b"deletedattribute"];

/// What becomes of an attribute with this name, if it is a special one.
pub(crate) fn foreign(name: &[u8]) -> Option<Foreign> {
    let has = |names: &&[&str]| names.iter().any(|other| other.as_bytes().eq_ignore_ascii_case(name));
    FOREIGN.iter().find(|(_, names)| has(names)).map(|(foreign, _)| *foreign)
}

/// An attribute description without the state of replication; `None` if it is of something deleted.
pub(crate) fn without_state(description: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(description.len());
    for (at, part) in description.split(|byte| *byte == b';').enumerate() {
        if at > 0 {
            let begins =
                |start: &&[u8]| part.get(..start.len()).is_some_and(|p| p.eq_ignore_ascii_case(start));
            if DELETED_OPTIONS.iter().any(|option| option.eq_ignore_ascii_case(part)) {
                return None;
            }
            if STATE_OPTIONS.iter().any(begins) {
                continue;
            }
            out.push(b';');
        }
        out.extend_from_slice(part);
    }
    Some(out)
}

/// Does a value of [`Foreign::Lock`] lock the account? Only what surely says no does not.
pub(crate) fn locks(value: &[u8]) -> bool {
    const NO: [&[u8]; 4] = [b"0", b"false", b"no", b"off"];
    !NO.iter().any(|no| no.eq_ignore_ascii_case(value.trim_ascii()))
}

/// nsUniqueId as an entryUUID: 32 hexadecimal digits in groups of 8-8-8-8 become 8-4-4-4-12. `None` if it is none.
pub(crate) fn uuid_of(unique_id: &[u8]) -> Option<[u8; 36]> {
    let groups: Vec<&[u8]> = unique_id.split(|byte| *byte == b'-').collect();
    let is_regular = |group: &&[u8]| group.len() == 8 && group.iter().all(u8::is_ascii_hexdigit);
    if groups.len() != 4 || !groups.iter().all(is_regular) {
        return None;
    }
    let mut digits = groups.concat().into_iter().map(|digit| digit.to_ascii_lowercase());
    let mut text = [b'-'; 36];
    for (at, byte) in text.iter_mut().enumerate() {
        if !matches!(at, 8 | 13 | 18 | 23) {
            *byte = digits.next().expect("there are 32 digits");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_ids_become_uuids() {
        let uuid = uuid_of(b"4F6D7B01-1dd211b2-8000e2c9-00000000").expect("it is one");
        assert_eq!(std::str::from_utf8(&uuid), Ok("4f6d7b01-1dd2-11b2-8000-e2c900000000"));
        for bad in [
            "",
            "4f6d7b01-1dd211b2-8000e2c9",
            "4f6d7b01-1dd211b2-8000e2c9-0000000g",
            "4f6d7b011dd211b28000e2c900000000",
        ] {
            assert_eq!(uuid_of(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn the_state_of_replication_is_taken_off() {
        let text =
            |description: &str| without_state(description.as_bytes()).map(|d| String::from_utf8(d).unwrap());
        assert_eq!(text("cn;lang-de;vucsn-5f00aa00000000010000;x-y").as_deref(), Some("cn;lang-de;x-y"));
        assert_eq!(text("nsUniqueId").as_deref(), Some("nsUniqueId"));
        assert_eq!(text("mail;adcsn-5f;vdcsn-5f;Deleted"), None);
        assert_eq!(text("mail;adcsn-5f;deletedattribute;deleted"), None);
    }

    #[test]
    fn what_does_not_say_no_locks() {
        for value in ["true", "TRUE", "1", "", "falsch"] {
            assert!(locks(value.as_bytes()), "{value}");
        }
        for value in ["false", " FALSE", "off", "0"] {
            assert!(!locks(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn names_have_no_case() {
        assert_eq!(foreign(b"NSUNIQUEID"), Some(Foreign::Uuid));
        assert_eq!(foreign(b"numsubordinates"), Some(Foreign::Derived));
        assert_eq!(
            foreign(b"entryusn"),
            Some(Foreign::Derived),
            "a number of another server says nothing here"
        );
        assert_eq!(foreign(b"cn"), None);
    }
}
