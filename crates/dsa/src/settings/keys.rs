//! The rows of the settings that can be changed while the server runs, except indexes.
//!
//! Each row has all that there is to say of its key; flag, TOML key, `cn=config` attribute, template and documentation follow from it. The rows are
//! here and not with the server's, for the agent itself reads and writes them: a change comes by LDAP and by the log.
//!
//! `show` gives the text that `set` takes, for every value: a record is text, and a replay on another server reads it. A test holds each row to
//! that. Values are checked by `set` alone, so no other place has to know a bound.

mod limits;
mod security;
mod who;

use super::Choices;
use super::row::{Bad, Row, Scope, Values};
use super::value::{bytes, bytes_within, number, on_off, server_url, switch};
use crate::constraints::{self, ConstraintRule};
use crate::lifetimes::CUT_MIN;
use crate::password::policies::PolicyRule;
use crate::reads::{Reads, WithoutQuorum};
use crate::transaction::Precedence;
use model::limits::{
    CHANGE_LOG_BYTES_MAX, CHANGE_LOG_SECONDS_MAX, CONSTRAINTS_MAX, POLICY_RULES_MAX, PRECEDENCES_MAX,
    TRANSACTION_AGE_MS_MAX, TRANSACTION_BYTES_MAX, TRANSACTION_UPDATES_MAX, TRANSACTIONS_OPEN_MAX,
    VERIFIED_SECONDS_MAX,
};
use proto::ext::refresh::TTL_MAX;

/// The key called `name`.
/// Some dozen rows, and a look by name is rare: no map.
pub fn find(name: &str) -> Option<&'static Row<Choices>> {
    online().find(|key| key.name == name)
}

/// Every one.
pub fn online() -> impl Iterator<Item = &'static Row<Choices>> {
    Row::online()
}

impl<T> Row<T> {
    /// Can it be changed while the server runs?
    pub fn is_online(&self) -> bool {
        self.name == "index" || find(self.name).is_some()
    }
}

/// What has the settings that can be changed while the server runs.
pub trait Holds: 'static {
    /// Those settings.
    fn choices(&self) -> &Choices;

    /// Those settings, to be changed.
    fn choices_mut(&mut self) -> &mut Choices;

    /// Bytes that the directory may occupy.
    fn memory_bytes_max(&self) -> u64;
}

impl Holds for Choices {
    fn choices(&self) -> &Choices {
        self
    }

    fn choices_mut(&mut self) -> &mut Choices {
        self
    }

    fn memory_bytes_max(&self) -> u64 {
        Choices::memory_bytes_max(self)
    }
}

impl<T: Holds> Row<T> {
    /// Every one, in the order in which documentation and template list them.
    pub fn online() -> impl Iterator<Item = &'static Row<T>> {
        Row::WHO.iter().chain(Row::ROWS).chain(Row::IDENTITY).chain(Row::SECURITY).chain(Row::LIMITS)
    }

    const ROWS: &'static [Row<T>] = &[
        Row {
            // In force at once; what address space there is for is judged where a change is asked for, not here: a start reserves what it is given.
            name: MEMORY_MAX,
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "`memory-share` of the memory of the machine, or of the control group",
            text: "Bytes that the directory may occupy, 896 GiB at most; units KiB, MiB, GiB and TiB. Beyond it adds, and changes \
                   that make an entry larger, are refused with adminLimitExceeded; other changes and deletes continue.",
            set: |c, v| put(&mut c.choices_mut().memory_max, v, |t| memory(t).map(Some)),
            show: |c| vec![c.memory_bytes_max().to_string()],
        },
        Row {
            // Both of the first two are off by default: a client that does not know them must not have its updates held back.
            name: "txn-implicit-begin",
            form: "on|off",
            values: Values::One,
            scope: Scope::Directory,
            default: "off",
            text: "Whether a client may choose the identifier of a transaction: the first update that names it starts \
                   the transaction.",
            set: |c, v| put(&mut c.choices_mut().transactions.implicit_begin, v, switch),
            show: |c| vec![on_off(c.choices().transactions.implicit_begin)],
        },
        Row {
            // For clients that cannot send controls.
            name: "txn-implicit-membership",
            form: "on|off",
            values: Values::One,
            scope: Scope::Directory,
            default: "off",
            text: "Whether an update without a control belongs to the open transaction of its session.",
            set: |c, v| put(&mut c.choices_mut().transactions.implicit_membership, v, switch),
            show: |c| vec![on_off(c.choices().transactions.implicit_membership)],
        },
        Row {
            // Off by default, for each such search costs what the transaction has cost.
            name: "txn-search",
            form: "on|off",
            values: Values::One,
            scope: Scope::Directory,
            default: "off",
            text: "Whether a search or compare with the transaction specification control sees the updates of the \
                   transaction.",
            set: |c, v| put(&mut c.choices_mut().transactions.search, v, switch),
            show: |c| vec![on_off(c.choices().transactions.search)],
        },
        Row {
            // A commit holds the writer's role for all of its updates.
            name: "txn-updates-max",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "10000",
            text: "Updates of one transaction.",
            // 0 would refuse every transaction at its first update; `txn-open-max = 0` says so at the begin.
            set: |c, v| {
                put(&mut c.choices_mut().transactions.updates_max, v, |t| {
                    number(t, 1, TRANSACTION_UPDATES_MAX)
                })
            },
            show: |c| vec![c.choices().transactions.updates_max.to_string()],
        },
        Row {
            // The messages wait in the session, and then are one command.
            name: "txn-bytes-max",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "4MiB",
            text: "Bytes of the updates of one transaction, 16 MiB at most; units KiB and MiB.",
            // The upper bound is that of one command of the log.
            set: |c, v| {
                put(&mut c.choices_mut().transactions.bytes_max, v, |t| {
                    bytes_within(t, 1, TRANSACTION_BYTES_MAX)
                })
            },
            show: |c| vec![c.choices().transactions.bytes_max.to_string()],
        },
        Row {
            // An open transaction holds names where precedence is configured, and memory in any case.
            name: "txn-age-max",
            form: "MS",
            values: Values::One,
            scope: Scope::Directory,
            default: "60000",
            text: "Milliseconds that a transaction may be open. Then it is aborted, and its client is notified.",
            set: |c, v| {
                put(&mut c.choices_mut().transactions.age_max_ms, v, |t| number(t, 1, TRANSACTION_AGE_MS_MAX))
            },
            show: |c| vec![c.choices().transactions.age_max_ms.to_string()],
        },
        Row {
            // Shares of it are kept for the root DN and for each identity.
            name: "txn-open-max",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "1000",
            text: "Open transactions in the server. 0: none can be started.",
            set: |c, v| {
                put(&mut c.choices_mut().transactions.open_max, v, |t| number(t, 0, TRANSACTIONS_OPEN_MAX))
            },
            show: |c| vec![c.choices().transactions.open_max.to_string()],
        },
        Row {
            // Several values, so that one key has all names; the order does not matter.
            name: "txn-precedence",
            form: "N:DN",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none: all have 0",
            text: "Precedence, 0 to 9, of the clients whose names are DN or lie below it; the highest that matches \
                   counts. A transaction with higher precedence preempts another that changes the same entry.",
            set: |c, v| {
                let most = (PRECEDENCES_MAX, "names have a precedence");
                each(&mut c.choices_mut().transactions.precedence, v, most, str::parse)
            },
            show: |c| c.choices().transactions.precedence.iter().map(Precedence::to_string).collect(),
        },
        Row {
            // The default holds whatever clocks do.
            name: "reads",
            form: "quorum|lease",
            values: Values::One,
            scope: Scope::Directory,
            default: "quorum",
            text: "In a [cluster](cluster.md#reads): by what a node knows that it reads nothing old. By an answer of a majority, for each \
                   read (quorum); or the leader also by the time that has passed since the last answer (lease), which is for \
                   machines whose clock never stands still.",
            set: |c, v| put(&mut c.choices_mut().reads.reads, v, |t| meant(t, Reads::WORDS)),
            show: |c| vec![word(c.choices().reads.reads, Reads::WORDS)],
        },
        Row {
            name: "without-quorum",
            form: "refuse|read",
            values: Values::One,
            scope: Scope::Directory,
            default: "refuse",
            text: "In a [cluster](cluster.md#reads): what becomes of reads and binds while no majority answers. They are refused \
                   after three seconds (refuse), or answered after one with what the node has, which may be old (read).",
            set: |c, v| put(&mut c.choices_mut().reads.without_quorum, v, |t| meant(t, WithoutQuorum::WORDS)),
            show: |c| vec![word(c.choices().reads.without_quorum, WithoutQuorum::WORDS)],
        },
        Row {
            // No connection goes out: the client asks those servers itself.
            name: "default-referral",
            form: "URL",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none: noSuchObject",
            text: "Servers to which requests are referred for names that are in no naming context: `ldap://HOST[:PORT]` or `ldaps://`, 8 at \
                   most. The name and the scope of the request are added. Binds are not referred.",
            set: |c, v| {
                let most = (REFERRALS_MAX, "servers are named");
                each(&mut c.choices_mut().default_referral, v, most, server_url)
            },
            show: |c| c.choices().default_referral.clone(),
        },
        Row {
            // Off by default: each change is kept in memory once more, and updates take longer. The bytes are those of values, so memory is up to twice as
            // much.
            name: "changelog-keep",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "0",
            text: "Bytes of the last changes that are kept as entries below [`cn=changelog`](change-streams.md#the-change-log), 256 MiB at most; units KiB \
                   and MiB. They are no part of `memory-max`. 0: there is no change log.",
            set: |c, v| {
                put(&mut c.choices_mut().change_log.bytes, v, |t| {
                    if t == "0" { Ok(0) } else { bytes_within(t, 1, CHANGE_LOG_BYTES_MAX) }
                })
            },
            show: |c| vec![c.choices().change_log.bytes.to_string()],
        },
        Row {
            // By the times of changes: a search drops what is too old by then, so that nothing has to wake up for it.
            name: "changelog-age",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "604800",
            text: "Seconds for which a change is kept below `cn=changelog` at most, if `changelog-keep` has room for it: a week.",
            set: |c, v| {
                put(&mut c.choices_mut().change_log.seconds, v, |t| {
                    number(t, 1, CHANGE_LOG_SECONDS_MAX.into())
                })
            },
            show: |c| vec![c.choices().change_log.seconds.to_string()],
        },
        Row {
            // An entry that is no policy, or that is not there, is passed over: nobody is locked out by a typing error.
            name: "passwords.default-policy",
            form: "DN|none",
            values: Values::One,
            scope: Scope::Directory,
            default: "none",
            text: "The [password policy](passwords.md#password-policy) of accounts that name none in `pwdPolicySubentry`: the DN \
                   of an entry of class pwdPolicy.",
            set: |c, v| put(&mut c.choices_mut().passwords.default_policy, v, policy_name),
            show: |c| vec![c.choices().passwords.default_policy.clone().unwrap_or(NO_POLICY.to_owned())],
        },
        Row {
            // A rule is asked at each bind and each change of a password, so their number is bounded. What it names need not be there yet: a rule without a
            // policy leads to the next way to find one.
            name: "passwords.policy",
            form: "policy=DN subtree=DN filter=FILTER group=DN",
            values: Values::Tables,
            scope: Scope::Directory,
            default: "none",
            text: "A password policy for the accounts of a subtree, of a group, or of a filter; what is named must all be so. The first \
                   that fits an account counts, if its entry names none.",
            set: |c, v| {
                let most = (POLICY_RULES_MAX, "accounts of policies are named");
                each(&mut c.choices_mut().passwords.rules, v, most, PolicyRule::parse)
            },
            show: |c| c.choices().passwords.rules.iter().map(PolicyRule::to_string).collect(),
        },
        Row {
            // Of accounts that a policy holds for, that says it. What is set already stays: length is looked at when a password is changed, for
            // nobody can say how long the word of a hash is.
            name: "passwords.min-length",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "8",
            text: "Characters that a password has at least which a user sets, where no policy holds. Administrators may set shorter \
                   ones.",
            set: |c, v| {
                put(&mut c.choices_mut().passwords.min_length, v, |t| number(t, 0, PASSWORD_LENGTH_MAX))
            },
            show: |c| vec![c.choices().passwords.min_length.to_string()],
        },
        Row {
            // Who guesses would learn from it which accounts there are: only those that are there are locked. But people who are locked
            // out ask fewer questions if they are informed.
            name: "passwords.tell-locked",
            form: "on|off",
            values: Values::One,
            scope: Scope::Directory,
            default: "off",
            text: "Whether a client that sends the password policy control learns that an account is locked, whatever password it \
                   has sent.",
            set: |c, v| put(&mut c.choices_mut().passwords.tell_locked, v, switch),
            show: |c| vec![on_off(c.choices().passwords.tell_locked)],
        },
        Row {
            // Older clients, of PAM above all, learn in no other way that a password is about to expire; those that know no control ignore it.
            name: "passwords.netscape",
            form: "on|off",
            values: Values::One,
            scope: Scope::Directory,
            default: "on",
            text: "Whether the answer to a bind that did not ask for the password policy says by the controls of the Netscape server \
                   that the password has expired, must be changed, or expires soon.",
            set: |c, v| put(&mut c.choices_mut().passwords.netscape, v, switch),
            show: |c| vec![on_off(c.choices().passwords.netscape)],
        },
        Row {
            // Off by default: it writes where binds write nothing else. With a precision each account is written once in that time.
            name: "passwords.last-success",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "0",
            text: "How precisely the time of the last bind with a password is kept, in `pwdLastSuccess` and `authTimestamp` of the \
                   entry: by how many seconds it may be behind. 0: not at all, but where a policy has pwdMaxIdle.",
            set: |c, v| {
                put(&mut c.choices_mut().passwords.last_success, v, |t| number(t, 0, LAST_SUCCESS_MAX))
            },
            show: |c| vec![c.choices().passwords.last_success.to_string()],
        },
        Row {
            // Off where another system reads the stored values, or where binds must stay as fast as they are.
            name: "passwords.renew",
            form: "on|off",
            values: Values::One,
            scope: Scope::Directory,
            default: "on",
            text: "Whether a password that is not stored by `password-scheme` is stored so when a client binds with it, at most 50 in a second.",
            set: |c, v| put(&mut c.choices_mut().passwords.renew, v, switch),
            show: |c| vec![on_off(c.choices().passwords.renew)],
        },
        Row {
            // Off by default: for its time a password that was right is as cheap to try as a fast digest, for who has it.
            name: "passwords.cache-seconds",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "0",
            text: "For how many seconds it is remembered that a password was right which is slow to verify, at most 300; 0: not at all. \
                   Whether the account may bind is judged each time.",
            set: |c, v| {
                put(&mut c.choices_mut().passwords.cache_seconds, v, |t| number(t, 0, VERIFIED_SECONDS_MAX))
            },
            show: |c| vec![c.choices().passwords.cache_seconds.to_string()],
        },
        Row {
            // It is kept with the rules, since threads take both together, and a change of it makes what they remember of requesters anew.
            // Off as with other servers: who asks for memberOf to check the groups that an application names wants those that list the user.
            name: "groups.nested",
            form: "on|off",
            values: Values::One,
            scope: Scope::Directory,
            default: "off",
            text: "Whether [memberOf](groups.md) has the groups of an entry's groups too, and `(memberOf=GROUP)` finds the members \
                   of the groups in a group.",
            set: |c, v| put(&mut c.choices_mut().access.nested_groups, v, switch),
            show: |c| vec![on_off(c.choices().access.nested_groups)],
        },
        Row {
            // The one key on which it depends what updates come to: it holds from its place in the log on.
            name: constraints::KEY,
            form: "name=NAME unique=ATTRIBUTES subtree=DN|name=NAME sequence=ATTRIBUTE counter=DN next=ATTRIBUTE class=CLASS subtree=DN|name=NAME values=ATTRIBUTES regex=TEXT url=URL min-count=N max-count=N max-size=BYTES class=CLASS subtree=DN|name=NAME default=ATTRIBUTE value=TEXT class=CLASS subtree=DN|name=NAME references=ATTRIBUTES absent=allow/refuse nothing=DN limit=N subtree=DN",
            values: Values::Tables,
            scope: Scope::Directory,
            default: "none",
            text: "A [constraint](constraints.md) on entries, of a subtree or of all: no value of these attributes may be that of another entry \
                   (unique), values have a form, a size and a number (values), or are names of entries and follow them (references), or what is added without the attribute gets the next number (sequence) \
                   or a value (default). Attributes that are looked for in other entries need an equality index. A change that existing entries violate is refused.",
            set: |c, v| {
                let most = (CONSTRAINTS_MAX, "constraints");
                each(&mut c.choices_mut().constraints, v, most, ConstraintRule::parse)
            },
            show: |c| c.choices().constraints.iter().map(ConstraintRule::to_string).collect(),
        },
        Row {
            name: "dynamic.default-ttl",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "86400",
            text: "Seconds that a [dynamic entry](dynamic-entries.md) is kept which is never refreshed.",
            set: |c, v| put(&mut c.choices_mut().lifetimes.default, v, |t| ttl(t, 1)),
            show: |c| vec![c.choices().lifetimes.default.to_string()],
        },
        Row {
            name: "dynamic.min-ttl",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "1",
            text: "Seconds that a refresh of a dynamic entry gives it at least.",
            set: |c, v| put(&mut c.choices_mut().lifetimes.min, v, |t| ttl(t, 1)),
            show: |c| vec![c.choices().lifetimes.min.to_string()],
        },
        Row {
            name: "dynamic.max-ttl",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "31557600",
            text: "Seconds that a refresh of a dynamic entry gives it at most, a day at least.",
            set: |c, v| put(&mut c.choices_mut().lifetimes.max, v, |t| ttl(t, CUT_MIN)),
            show: |c| vec![c.choices().lifetimes.max.to_string()],
        },
        Row {
            name: "access.rule",
            form: "RULE",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none",
            text: "A rule of [access control](access.md): `NAME: TARGET; SUBJECT; EFFECT`. In the file also a table \
                   of that name for each. A start or a change with a rule that is wrong, or that names what the schema does not \
                   know, is refused.",
            set: |c, v| access::parse_all(v).map(|rules| c.choices_mut().access.rules = rules),
            show: |c| c.choices().access.rules.iter().map(access::Rule::to_string).collect(),
        },
        Row {
            name: "access.defaults",
            form: "on|off",
            values: Values::One,
            scope: Scope::Directory,
            default: "on",
            text: "Whether the [built-in rules](access.md#built-in-rules) hold besides those of `access.rule`. Without them \
                   nobody but the root DN may do what no rule allows, not even bind.",
            set: |c, v| put(&mut c.choices_mut().access.defaults, v, switch),
            show: |c| vec![on_off(c.choices().access.defaults)],
        },
        Row {
            // The groups of a session are looked up again when a rule or an entry that they hang on changes.
            name: "access.refresh",
            form: "at-once|bind",
            values: Values::One,
            scope: Scope::Directory,
            default: "at-once",
            text: "From when on a changed rule, group or entry of a client holds for its open sessions: from their next \
                   requests on (at-once), or when they bind again (bind).",
            set: |c, v| put(&mut c.choices_mut().access.refresh, v, refresh),
            show: |c| vec![c.choices().access.refresh.word().to_owned()],
        },
    ];
}

/// Seconds that a dynamic entry is kept: those that a client may ask for.
fn ttl(text: &str, min: u32) -> Result<u32, String> {
    number(text, min.into(), TTL_MAX.into())
}

/// How a file says that accounts have no policy by default.
const NO_POLICY: &str = "none";

/// Servers that one answer names at most.
const REFERRALS_MAX: usize = 8;

/// A year: nobody asks for less.
const LAST_SUCCESS_MAX: u64 = 366 * 24 * 3600;

/// What the least length of a password may be: longer ones are typed by nobody.
const PASSWORD_LENGTH_MAX: u64 = 128;

/// The key of the memory that the directory may occupy.
pub const MEMORY_MAX: &str = "memory-max";
/// Less than this holds no directory: the schema and the first segments alone take most of it.
pub const MEMORY_BYTES_MIN: u64 = 32 << 20;
/// With what is kept for deletes and for the log beyond it ([`store::memory_bytes_end`]) this is the 1 TiB that the
/// store can address.
pub const MEMORY_BYTES_MAX: u64 = 896 << 30;

/// Bytes that the directory may occupy.
fn memory(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        ..MEMORY_BYTES_MIN => Err(format!("at least {} MiB are needed", MEMORY_BYTES_MIN >> 20)),
        bytes if bytes > MEMORY_BYTES_MAX => {
            Err(format!("a directory holds {} GiB at most", MEMORY_BYTES_MAX >> 30))
        }
        bytes => Ok(bytes),
    }
}

/// Sets a key with one value. It has exactly one here: the number of values was checked before.
///
/// # Errors
/// Why the value is bad.
pub fn put<T>(
    place: &mut T,
    values: &[String],
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(), Bad> {
    *place = parse(&values[0]).map_err(|reason| vec![(0, reason)])?;
    Ok(())
}

/// The name of a policy. Whether it is one is not asked here: the entry may come later, and go.
fn policy_name(text: &str) -> Result<Option<String>, String> {
    if text == NO_POLICY {
        return Ok(None);
    }
    let is_dn = !text.is_empty() && model::dn::parse(text.as_bytes()).is_ok();
    if is_dn { Ok(Some(text.to_owned())) } else { Err(format!("`{text}` is neither a DN nor `none`")) }
}

/// What a word means.
fn meant<T: Copy>(text: &str, words: [(&'static str, T); 2]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found
        .map(|(_, meaning)| *meaning)
        .ok_or_else(|| format!("`{text}` is neither `{}` nor `{}`", words[0].0, words[1].0))
}

/// The word of a meaning.
fn word<T: PartialEq>(meaning: T, words: [(&'static str, T); 2]) -> String {
    let found = words.into_iter().find(|(_, other)| *other == meaning);
    found.map(|(word, _)| word.to_owned()).unwrap_or_default()
}

/// Reads the setting `refresh` of access rules.
/// Its words are those that rules have, so that there is one list of them.
fn refresh(text: &str) -> Result<access::Refresh, String> {
    let found = access::Refresh::WORDS.iter().find(|(word, _)| *word == text);
    found.map(|(_, refresh)| *refresh).ok_or_else(|| format!("`{text}` is neither `at-once` nor `bind`"))
}

/// All faulty values are reported together, each by its position: an administrator mends them in one go.
fn each<T>(
    place: &mut Vec<T>,
    values: &[String],
    most: (usize, &str),
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(), Bad> {
    let (most, what) = most;
    if values.len() > most {
        return Err(vec![(most, format!("{most} {what} at most"))]);
    }
    // The setting keeps its former value unless all are good.
    let (mut good, mut bad) = (Vec::new(), Bad::new());
    for (at, text) in values.iter().enumerate() {
        match parse(text) {
            Ok(value) => good.push(value),
            Err(reason) => bad.push((at, reason)),
        }
    }
    if bad.is_empty() {
        *place = good;
        return Ok(());
    }
    Err(bad)
}

#[cfg(test)]
mod tests;
