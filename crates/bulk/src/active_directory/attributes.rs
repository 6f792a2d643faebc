//! What becomes of the attributes of Active Directory.

use model::csn::write_generalized_time;
use schema::Schema;

/// What becomes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    /// It is imported as it is.
    Kept,
    /// It is imported as it is, and does not do here what it does there.
    Useless(&'static str),
    /// It is left out.
    Left(&'static str),
    /// It is the identity of the entry.
    Guid,
    /// It becomes a time of another name.
    Time(&'static str, &'static str),
    /// It says whether an account is disabled.
    Control,
    /// It says when an account ends.
    Expiry,
}

const BACK_LINK: &str = "they follow from values of other entries";
const NO_SUCH_ATTRIBUTE: &str = "the schema has no such attribute; --schema FILE adds one";

/// Attributes that are left out, by the reason.
const LEFT: [(&str, &[&str]); 6] = [
    (BACK_LINK, &["directReports", "managedObjects", "memberOf"]),
    ("the name of the entry has them", &["canonicalName", "distinguishedName", "name"]),
    ("access rules: rules are to be written anew", &["nTSecurityDescriptor"]),
    (
        "secrets that are of use to the other server only",
        &[
            "dBCSPwd",
            "lmPwdHistory",
            "ms-Mcs-AdmPwd",
            "msDS-ManagedPassword",
            "msLAPS-EncryptedPassword",
            "msLAPS-Password",
            "ntPwdHistory",
            "supplementalCredentials",
            "unicodePwd",
        ],
    ),
    (
        "the state of log-ins and of password policies there",
        &[
            "badPasswordTime",
            "badPwdCount",
            "forceLogoff",
            "lastLogoff",
            "lastLogon",
            "lastLogonTimestamp",
            "lockOutObservationWindow",
            "lockoutDuration",
            "lockoutThreshold",
            "lockoutTime",
            "logonCount",
            "maxPwdAge",
            "minPwdAge",
            "minPwdLength",
            "pwdHistoryLength",
            "pwdLastSet",
            "pwdProperties",
        ],
    ),
    (
        "what domain controllers keep for themselves",
        &[
            "auditingPolicy",
            "creationTime",
            "dSCorePropagationData",
            "fSMORoleOwner",
            "instanceType",
            "isCriticalSystemObject",
            "masteredBy",
            "modifiedCount",
            "modifiedCountAtLastProm",
            "msDs-masteredBy",
            "nextRid",
            "nTMixedDomain",
            "objectVersion",
            "otherWellKnownObjects",
            "replPropertyMetaData",
            "replUpToDateVector",
            "repsFrom",
            "repsTo",
            "rIDManagerReference",
            "rIDSetReferences",
            "serverState",
            "subRefs",
            "systemFlags",
            "uASCompat",
            "uSNChanged",
            "uSNCreated",
            "uSNDSALastObjRemoved",
            "uSNLastObjRem",
            "wellKnownObjects",
        ],
    ),
];

/// Attributes that are kept and do not mean here what they mean there.
const USELESS: [(&str, &str); 4] = [
    ("logonHours", "nobody is kept from binding at other times"),
    ("objectCategory", "a search by the short name of a category finds nothing"),
    ("primaryGroupID", "the group does not list members by it"),
    ("userWorkstations", "nobody is kept from binding from other machines"),
];

/// Attributes that are more than kept or left out.
const OTHERS: [(&str, Attribute); 5] = [
    ("accountExpires", Attribute::Expiry),
    ("objectGUID", Attribute::Guid),
    ("userAccountControl", Attribute::Control),
    ("whenChanged", Attribute::Time("modifyTimestamp", "modifyTimestamp")),
    ("whenCreated", Attribute::Time("createTimestamp", "createTimestamp")),
];

/// What becomes of the values of an attribute.
pub(super) fn attribute(name: &[u8], schema: &Schema) -> Attribute {
    let is = |other: &str| is_name(name, other);
    if let Some((_, attribute)) = OTHERS.iter().find(|(other, _)| is(other)) {
        return *attribute;
    }
    if let Some((why, _)) = LEFT.iter().find(|(_, names)| names.iter().any(|other| is(other))) {
        return Attribute::Left(why);
    }
    if let Some((_, why)) = USELESS.iter().find(|(other, _)| is(other)) {
        return Attribute::Useless(why);
    }
    match schema.find_type(name) {
        Some(_) => Attribute::Kept,
        // Back links are called so in its schema.
        None if name.ends_with(b"BL") => Attribute::Left(BACK_LINK),
        None if crate::operational::foreign(name).is_some() => Attribute::Kept,
        None => Attribute::Left(NO_SUCH_ATTRIBUTE),
    }
}

/// Is a description that of an attribute with this name?
pub(super) fn is_name(description: &[u8], name: &str) -> bool {
    description.eq_ignore_ascii_case(name.as_bytes())
}

/// The entryUUID of an objectGUID: the text that Active Directory's own tools show. Its first three fields begin with the least significant byte.
pub(super) fn entry_uuid(guid: &[u8]) -> Option<String> {
    let guid: &[u8; 16] = guid.try_into().ok()?;
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::with_capacity(36);
    for (at, from) in ORDER.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text += &format!("{:02x}", guid[from]);
    }
    Some(text)
}

/// Does a userAccountControl disable the account? One that is no number does.
pub(super) fn is_disabled(value: &[u8]) -> bool {
    const ACCOUNTDISABLE: i64 = 2;
    number(value).is_none_or(|flags| flags & ACCOUNTDISABLE != 0)
}

/// When an account ends, of accountExpires: a generalized time. `None` if it does not.
pub(super) fn expiry(value: &[u8]) -> Option<Vec<u8>> {
    /// Milliseconds from 1601 to 1970.
    const EPOCH_MS: i64 = 11_644_473_600_000;
    /// The end of the year 9999, in milliseconds since 1970: a generalized time has four digits for the year.
    const LAST_MS: i64 = 253_402_300_799_000;
    const NEVER: [i64; 2] = [0, i64::MAX];
    // What is no number ends at once, not never.
    let ticks = number(value).unwrap_or(1);
    let unix_ms = (ticks / 10_000).saturating_sub(EPOCH_MS).max(0);
    if NEVER.contains(&ticks) || unix_ms > LAST_MS {
        return None;
    }
    let mut text = Vec::new();
    write_generalized_time(unix_ms.unsigned_abs(), &mut text);
    Some(text)
}

fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}
