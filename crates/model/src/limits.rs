//! Every bound in one place. A bound that is exceeded is a result code or a closed connection, never a crash.

/// Bytes of one LDAPMessage, tag and length included. A longer one ends the connection.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Nesting of filters: `(!(!(...)))`.
pub const FILTER_DEPTH_MAX: usize = 64;
/// Filter items in one request, sets and parts of substrings included. Clients send ORs of several thousand; a compiled
/// item takes some 300 bytes.
pub const FILTER_ITEMS_MAX: usize = 16 << 10;
/// Bytes of one filter: a suspended search keeps its assertion values.
pub const FILTER_BYTES_MAX: usize = 1 << 20;
/// Items of the filter of one assertion control: it is evaluated while the writer waits.
pub const ASSERTION_ITEMS_MAX: u32 = 256;
/// Items of the control that selects values, parts of substrings included: each is compared with each value that is returned.
pub const MATCHED_VALUES_ITEMS_MAX: u32 = 256;
/// Bytes of the values that it selects of one large set: they wait in memory, for their length stands before them.
pub const MATCHED_VALUES_BYTES_MAX: usize = 1 << 20;
/// Attributes whose values one search dereferences.
pub const DEREFERENCE_SPECS_MAX: usize = 16;
/// Attributes of the entries that one of these names.
pub const DEREFERENCE_ATTRIBUTES_MAX: usize = 64;
/// Values that are dereferenced of one entry.
pub const DEREFERENCE_VALUES_MAX: usize = 4096;
/// Bytes of what that brings.
pub const DEREFERENCE_BYTES_MAX: usize = 1 << 20;
/// Bytes of an entry that the answer to an update brings (pre-read, post-read).
pub const READ_ENTRY_BYTES_MAX: usize = 192 << 10;
/// Entries that the answers to updates that are logged together bring.
pub const READ_ENTRIES_MAX: usize = 32;
/// Bytes of a password. A longer one is wrong, and is not looked at.
pub const PASSWORD_BYTES_MAX: usize = 1024;
/// Bytes of a stored password that has a scheme. A longer one matches nothing.
pub const PASSWORD_VALUE_BYTES_MAX: usize = 1024;
/// Bytes of the salt of a stored password.
pub const PASSWORD_SALT_BYTES_MAX: usize = 64;
/// Bytes of the key of a stored password.
pub const PASSWORD_KEY_BYTES_MAX: usize = 64;
/// Memory in KiB that a stored password may take to verify.
pub const ARGON2_MEMORY_KIB_MAX: u32 = 256 << 10;
/// Passes of Argon2 over that memory.
pub const ARGON2_PASSES_MAX: u32 = 64;
/// Lanes of Argon2.
pub const ARGON2_LANES_MAX: u32 = 16;
/// Memory times passes of Argon2, in KiB.
pub const ARGON2_WORK_KIB_MAX: u64 = 2 << 20;
/// Iterations of PBKDF2.
pub const PBKDF2_ITERATIONS_MAX: u32 = 10_000_000;
/// Rounds of `$5$` and `$6$`.
pub const CRYPT_ROUNDS_MAX: u32 = 5_000_000;
/// Values of userPassword that an update may leave in an entry, of one description.
pub const PASSWORD_VALUES_MAX: usize = 8;
/// Former passwords that a policy may have kept.
pub const PASSWORD_HISTORY_MAX: usize = 24;
/// Accounts whose failed binds are counted for password policies.
pub const LOCKOUT_ACCOUNTS_MAX: usize = 1 << 20;
/// Names of a user that are looked for in a new password.
pub const PASSWORD_NAMES_MAX: usize = 64;
/// Octets of such a name that are looked at.
pub const PASSWORD_NAME_BYTES_MAX: usize = 256;
/// Words of a dictionary that passwords are looked for in.
pub const DICTIONARY_WORDS_MAX: usize = 1 << 22;
/// Bytes of the file of a dictionary.
pub const DICTIONARY_BYTES_MAX: u64 = 64 << 20;
/// Times of accounts that wait to be written to the log.
pub const ACCOUNT_TIMES_MAX: usize = 1 << 20;
/// Subentries among which policies of parts of the tree are looked for.
pub const POLICY_SUBENTRIES_MAX: usize = 1024;
/// Subentries of collective attributes that an add may make (RFC 3671): each entry that is shown may be asked whether it is among the entries of each.
pub const COLLECTIVE_SUBENTRIES_MAX: usize = 1024;
/// Failed binds whose times an account keeps: the newest.
pub const FAILURE_TIMES_MAX: usize = 32;
/// Verified passwords that are remembered.
pub const VERIFIED_MAX: usize = 1 << 16;
/// Seconds for which they are, at most.
pub const VERIFIED_SECONDS_MAX: u64 = 300;
/// Accounts whose last one-time code is remembered, of those that have bound with one in a minute and a half.
pub const ONE_TIMES_MAX: usize = 1 << 16;
/// Threads that ask other servers for clients.
pub const CHAIN_THREADS: usize = 8;
/// Requests that one other server is asked at once, and connections to it that are kept.
pub const CHAINS_OF_SERVER: u64 = 4;
/// Servers that may be asked for clients.
pub const CHAIN_SERVERS_MAX: usize = 64;
/// Seconds that other servers have for one request of a client.
pub const CHAIN_SECONDS_MAX: u64 = 10;
/// Seconds for which a connection to another server is kept without a request.
pub const CHAIN_IDLE_SECONDS: u64 = 60;
/// Seconds in which another server must answer by a connection that was kept.
pub const CHAIN_PROBE_SECONDS: u64 = 2;
/// Requests to other servers that one request of a client comes to, by referrals of theirs.
pub const CHAIN_SEARCHES_MAX: usize = 16;
/// Bytes of answers of other servers after which the rest is left out.
pub const CHAIN_BYTES_MAX: usize = 4 << 20;
/// Bytes of the text of another server's result that are passed on.
pub const CHAIN_TEXT_BYTES_MAX: usize = 1024;
/// Jobs of passwords that wait for the pool; one more is answered busy.
pub const PASSWORD_JOBS_MAX: u64 = 1024;
/// Jobs of the clients of one address that are worked on at once.
pub const PASSWORD_JOBS_OF_ADDRESS: u32 = 4;
/// Nanoseconds that a job waits before it is answered busy.
pub const PASSWORD_JOB_AGE_NS_MAX: u64 = 5_000_000_000;
/// Cost of bcrypt, a power of two.
pub const BCRYPT_COST_MAX: u32 = 16;
/// Bytes of a diagnosticMessage. What is longer is cut: it repeats something that a client sent.
pub const DIAGNOSTIC_BYTES_MAX: usize = 1024;
/// Nesting of BER elements anywhere else.
pub const BER_DEPTH_MAX: usize = 100;
/// RDNs in one DN.
pub const DN_RDNS_MAX: usize = 128;
/// Bytes of one DN in its string form.
pub const DN_BYTES_MAX: usize = 64 << 10;
/// Attribute value assertions in one RDN.
pub const RDN_AVAS_MAX: usize = 16;
/// Controls on one message.
pub const CONTROLS_MAX: usize = 32;
/// Keys that a search may be sorted by.
pub const SORT_KEYS_MAX: usize = 16;
/// Bytes that the keys of a sorted search may take while it is sorted: the least and the most that can be set, and what holds if nothing is.
pub const SORT_BYTES_MIN: usize = 64 << 10;
/// See [`SORT_BYTES_MIN`].
pub const SORT_BYTES_MAX: usize = 1 << 30;
/// See [`SORT_BYTES_MIN`].
pub const SORT_BYTES_DEFAULT: usize = 64 << 20;
/// Attribute selectors of one search.
pub const SELECTION_MAX: usize = 4096;
/// Bytes of the value of a control that asks for effective rights.
pub const EFFECTIVE_RIGHTS_BYTES_MAX: usize = 16 << 10;
/// Attributes that it may name, and of those that the search names as many are shown: the rights on each are worked out for each entry.
pub const EFFECTIVE_RIGHTS_NAMES_MAX: usize = 256;
/// Attributes in one add, changes in one modify.
pub const ATTRIBUTES_MAX: usize = 4096;
/// Bytes of one attribute value.
pub const VALUE_BYTES_MAX: usize = MESSAGE_BYTES_MAX;
/// Searches that one session has in progress at once; one more is answered busy.
pub const SESSION_SEARCHES_MAX: usize = 64;
/// Searches that follow changes, of one session, and of all, if nothing else is said.
pub const SESSION_FOLLOWERS_DEFAULT: usize = 8;
/// See above.
pub const FOLLOWERS_DEFAULT: usize = 256;
/// The highest limit that can be set for all sessions.
pub const FOLLOWERS_MAX: u64 = 1 << 16;
/// Entries changed since a cookie, beyond which a consumer gets the names of those that are unchanged instead: 16 bytes each.
pub const TOUCHED_MAX: usize = 1 << 16;
/// Bytes of events of changed entries that are kept for those who follow, if nothing else is said.
pub const STREAM_BYTES_DEFAULT: usize = 16 << 20;
/// The lowest and the highest limit that can be set.
pub const STREAM_BYTES_MIN: u64 = 64 << 10;
/// See above.
pub const STREAM_BYTES_MAX: u64 = 1 << 30;
/// Bytes of answers that wait for a slow client before its requests are read no further.
pub const SESSION_OUT_BYTES_MAX: usize = 1 << 20;
/// Bytes of answers in one go after which a session lets its connection send them.
pub const OUT_BYTES_SOFT_MAX: usize = SESSION_OUT_BYTES_MAX / 4;
/// Bytes of one line of LDIF after unfolding.
pub const LDIF_LINE_BYTES_MAX: usize = 64 << 20;
/// Attribute indexes of a directory: of one kind on one attribute each.
pub const INDEXES_MAX: usize = 1024;
/// Indexes that wait to be built or dropped while the directory is served; one more is answered busy.
pub const INDEX_TASKS_MAX: usize = 64;
/// Bytes of changes in the change log: the highest limit that can be set.
pub const CHANGE_LOG_BYTES_MAX: u64 = 256 << 20;
/// Seconds for which a change is kept there, if nothing else is said: a week.
pub const CHANGE_LOG_SECONDS_DEFAULT: u32 = 7 * 86_400;
/// The highest limit that can be set: ten years.
pub const CHANGE_LOG_SECONDS_MAX: u32 = 10 * 365 * 86_400;
/// Updates of one transaction: the highest limit that can be set.
pub const TRANSACTION_UPDATES_MAX: u64 = 1 << 20;
/// Bytes of the updates of one transaction: the highest limit that can be set. They are one record of the log.
pub const TRANSACTION_BYTES_MAX: u64 = MESSAGE_BYTES_MAX as u64;
/// Entries that a tree delete takes at a time: the highest limit that can be set.
pub const TREE_DELETE_MAX: u64 = 100_000;
/// Bytes of names, and of conditions of access rules, that a tree delete takes at a time. They are one record of the log.
pub const TREE_DELETE_BYTES_MAX: usize = 4 << 20;
/// Milliseconds that one transaction may be open: the highest limit that can be set, a day.
pub const TRANSACTION_AGE_MS_MAX: u64 = 24 * 3600 * 1000;
/// Transactions open in the server at once: the highest limit that can be set.
pub const TRANSACTIONS_OPEN_MAX: u64 = 1 << 20;
/// Bytes of memory that all open transactions may have together, if that is less than their share of the memory of clients.
pub const TRANSACTIONS_MEMORY_MAX: u64 = 1 << 30;
/// Highest precedence of a transaction.
pub const TRANSACTION_PRECEDENCE_MAX: u8 = 9;
/// Bytes of one message of a SASL exchange.
pub const SASL_BYTES_MAX: usize = 16 << 10;
/// Steps of a SASL exchange.
pub const SASL_STEPS_MAX: u32 = 8;
/// Seconds from the first step of a SASL exchange to its last.
pub const SASL_SECONDS_MAX: u64 = 30;
/// Seconds by which the clock of who issues access tokens may differ.
pub const TOKEN_SKEW_SECONDS: i64 = 60;
/// Octets of a file with the keys of an issuer.
pub const TOKEN_KEYS_BYTES_MAX: u64 = 1 << 20;
/// Mappings of users of the machine to entries.
pub const PEER_MAPPINGS_MAX: usize = 256;
/// DNs that are given a precedence.
pub const PRECEDENCES_MAX: usize = 256;
/// Constraints on entries: each is judged at each update.
pub const CONSTRAINTS_MAX: usize = 64;
/// Rules that say which password policy holds for whom: each is asked at a bind.
pub const POLICY_RULES_MAX: usize = 256;
/// Access rules of the configuration.
pub const ACCESS_RULES_MAX: usize = 1024;
/// Bytes of one access rule.
pub const ACCESS_RULE_BYTES_MAX: usize = 64 << 10;
/// Subjects of one access rule.
pub const ACCESS_SUBJECTS_MAX: usize = 256;
/// Conditions of one subject of an access rule.
pub const ACCESS_TESTS_MAX: usize = 32;
/// Elements of one list in an access rule: selected attributes, networks, mechanisms, OIDs.
pub const ACCESS_LIST_MAX: usize = 1024;
/// Bytes of the name of an access rule.
pub const ACCESS_NAME_BYTES_MAX: usize = 64;
/// Highest rank of an access rule.
pub const ACCESS_RANK_MAX: u32 = 1_000_000;
/// Access rules of all entries together. Each is asked at a bind, and each entry that has some is looked for above the entries that are read.
pub const ACCESS_ENTRY_RULES_MAX: usize = 1024;
/// Highest rank of an access rule that an entry has.
pub const ACCESS_ENTRY_RANK_MAX: u32 = 9;
/// The highest limit that a rule gives a requester: that of numbers in LDAP (RFC 4511, maxInt).
pub const REQUESTER_LIMIT_MAX: u32 = i32::MAX as u32;
/// Attributes that are declared secrets.
pub const ACCESS_SECRETS_MAX: usize = 256;
/// Values of settings whose change is kept with the settings of a directory.
pub const SETTING_CHANGES_MAX: usize = 100;
/// Bytes that these take; the last change is kept, however long it is.
pub const SETTING_CHANGES_BYTES_MAX: usize = 64 << 10;
/// Events of the security log that wait to be written. Of those beyond it only the number is kept.
pub const EVENTS_MAX: usize = 1 << 16;
/// Octets of changes that wait to be written to the audit log.
pub const TRAIL_BYTES_MAX: usize = 64 << 20;

const _: () = assert!(DN_BYTES_MAX < MESSAGE_BYTES_MAX, "a DN must fit in a message");
const _: () = assert!(MESSAGE_BYTES_MAX < LDIF_LINE_BYTES_MAX, "base64 of a value must fit in a line");
const _: () = assert!(FILTER_DEPTH_MAX <= BER_DEPTH_MAX);
const _: () = assert!(ASSERTION_ITEMS_MAX as usize <= FILTER_ITEMS_MAX);
const _: () =
    assert!(2 * READ_ENTRY_BYTES_MAX < SESSION_OUT_BYTES_MAX / 2, "an answer may bring two entries");
const _: () = assert!(FILTER_BYTES_MAX < MESSAGE_BYTES_MAX, "the longest filter must fit in a message");
