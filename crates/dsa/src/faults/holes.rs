//! Holes that tests plant: faults by which a client learns or does what it may not. `xtask/holes.toml` names the test that finds each. They are
//! no part of [`super::ALL`], for no property of the simulator is about them.
//!
//! Each is a check left out, as it might be by a mistake in the place where it is planted. So a hole says which test would notice that mistake; a
//! check without a hole may go without any test noticing. The last ones are faults of replicas, which one test each finds, too.

env::faults! {
    /// What follows StartTLS in the clear is kept, and taken for what came under TLS (row T3).
    /// Who is between client and server can so put requests into the client's session (the CVE-2011-0411 class).
    FOLLOWS_START_TLS = "follows-start-tls";
    /// A SASL mechanism is taken where it is not offered, also one that shows the password in the clear (row S1).
    MECHANISM_NOT_OFFERED = "mechanism-not-offered";
    /// A value of a certificate is put into a filter as it is (row S5).
    /// A certificate for the name `*)(uid=*` would be everybody's.
    VALUE_NOT_ESCAPED = "value-not-escaped";
    /// Who asks to act as another by SASL needs no right for it (row S6).
    PROXY_NOT_JUDGED = "proxy-not-judged";
    /// An identity that may change everything can be assumed by those who may act as users (row S6).
    /// The right to act as users would be the right to give oneself all others (the CVE-2019-13057 class).
    MIGHTY_ASSUMED = "mighty-assumed";
    /// An access token that was made for another service is taken (row S7).
    /// Each service that users show their tokens to could act as them here.
    AUDIENCE_NOT_LOOKED_AT = "audience-not-looked-at";
    /// A client that asks for a security layer by GSSAPI is served without one (row S8).
    /// It would take for protected what everybody on the way reads and changes.
    LAYER_NOT_LOOKED_AT = "layer-not-looked-at";
    /// A session stays who it was when a bind of it fails, or has a step more (row S9).
    IDENTITY_KEPT = "identity-kept";
    /// Filters find entries by attributes that may not be tested (row X1).
    /// A value is guessed octet by octet with substrings (the CVE-2018-10919 class).
    FILTER_NOT_JUDGED = "filter-not-judged";
    /// The change log is for all who may read entries below `cn=changelog` (row X10).
    /// It has the values of all entries, also of those that are hidden from the reader.
    CHANGES_OF_HIDDEN = "changes-of-hidden";
    /// A refresh says what is gone to all (row X8): also of entries that were always hidden from the reader.
    GONE_OF_HIDDEN = "gone-of-hidden";
    /// The change log has passwords (row X10).
    SECRET_IN_CHANGE_LOG = "secret-in-change-log";
    /// Aliases lead to entries that are hidden (row X3).
    /// A client that may add an alias could so ask for any name (the CVE-2019-14824 class).
    ALIAS_NOT_JUDGED = "alias-not-judged";
    /// A tree delete takes what is below an entry without the right on it (row X6).
    /// Who may delete one entry could so delete those of others below it.
    TREE_NOT_JUDGED = "tree-not-judged";
    /// The members that the searches of a group find are shown also where they are hidden (row X3).
    /// A client that may add a group could so ask for any entry (the CVE-2019-14824 class).
    FOUND_MEMBER_NOT_JUDGED = "found-member-not-judged";
    /// What hung on the membership in a group stays when the group has changed (row A5).
    /// Who is taken out of a group would keep its rights.
    MEMBER_STAYS = "member-stays";
    /// A requester that the search of a group has found stays a member when its own entry has changed (row A5).
    FOUND_MEMBER_STAYS = "found-member-stays";
    /// Referral objects that may not be read refer clients (row X3).
    REFERRAL_NOT_JUDGED = "referral-not-judged";
    /// Whether a name is taken is looked at before the right to add it (row X6).
    /// Adds that are refused would tell which names there are (the CVE-2016-4992 class).
    EXISTENCE_FIRST = "existence-first";
    /// A session is the entry that has the id of its own, also if that is another by now (row X9).
    /// The session of a user who was deleted would get the rights of the next one who is added.
    ID_GIVEN_AGAIN = "id-given-again";
    /// Sessions stay whose entry was deleted, or whose account was locked (row X9).
    /// Who was dismissed could read on for as long as the connection lasts.
    GONE_STAYS = "gone-stays";
    /// Controls and extended operations need no right (row X10).
    /// What is forbidden since its decoder has a fault could still be attacked.
    USE_NOT_JUDGED = "use-not-judged";
    /// What is kept of a password, and which policy holds for it, may be written by everybody who sees the entry (row X7).
    /// A user would unlock itself, or give itself a policy without a lock.
    STATE_NOT_JUDGED = "state-not-judged";
    /// Rules of entries need no more than other values of these (row X7).
    /// Who may change an entry would give itself all rights on what is below it.
    RULES_AS_VALUES = "rules-as-values";
    /// An entry that uses what is to be removed from the schema is named to requesters that may not read it (row X11).
    USERS_NOT_JUDGED = "users-not-judged";
    /// What a client says of the channel in SCRAM is not compared with the channel (row S3).
    /// Who is in the middle, with a certificate of its own, could pass the proof on.
    BINDING_NOT_COMPARED = "binding-not-compared";
    /// SCRAM draws a salt for a name that has no keys (row S2).
    /// By a second try the server would tell by another salt that there is no such user.
    SALT_DRAWN = "salt-drawn";
    /// SCRAM takes a client that was shown no mechanism with channel binding, though there is one (row S4).
    /// Who is in the middle could take it off the list, and the proof would be bound to nothing.
    DOWNGRADE_TAKEN = "downgrade-taken";
    /// An event about a change of the configuration tells the values too (row G3).
    /// Who may read the log would read what only the root DN may read in `cn=config`.
    VALUES_NOTED = "values-noted";
    /// A search looks at more entries than its client may have looked at (row L1).
    /// One client would keep threads busy with searches that find nothing.
    LOOK_THROUGH_NOT_KEPT = "look-through-not-kept";
    /// Of a search that no index answers a text names what its client may not test everywhere (row L1).
    UNINDEXED_NAMED = "unindexed-named";
    /// A client is read however fast it is (row L1).
    RATE_NOT_KEPT = "rate-not-kept";
    /// Searches run to their end at once, whatever they look at (row L3).
    /// One client with long searches would keep a thread from all others for as long as it likes.
    SLICES_NOT_ENDED = "slices-not-ended";
    /// Memory for all entries of a page is reserved before the first is found (row L4).
    /// A request of a few bytes would take gigabytes (the CVE-2026-62375 class).
    PAGE_RESERVED = "page-reserved";
    /// Memory for all entries that a list view asks for is reserved before the first is found (row L4).
    /// A request of a few bytes would take gigabytes (the CVE-2026-9064 class).
    VIEW_RESERVED = "view-reserved";
    /// Making a filter ready is no work (row X12).
    /// A client that sends the longest filters would keep a thread for as long as it takes to read them.
    FILTER_NOT_PAID = "filter-not-paid";
    /// Passwords are verified however often they were wrong.
    FAILURES_NOT_COUNTED = "failures-not-counted";
    /// What an address has used of its rates is forgotten with its last connection (row L1).
    /// A connection for each try would give any number of tries.
    ADDRESS_FORGOTTEN = "address-forgotten";
    /// A client that sends nothing may stay as long as one that has sent something (row L2).
    /// All places would be taken by clients that cost their owner nothing.
    SILENT_KEPT = "silent-kept";
    /// Who follows changes learns of the deletion of any entry (row X8).
    /// Each entry that is hidden would be counted, and its end timed.
    SYNC_OF_HIDDEN = "sync-of-hidden";
    /// A persistent search names an entry as it was named between two of its batches (row X8).
    /// Who has seen an entry would learn where it was moved to, though it may not look there.
    NAME_IN_BETWEEN = "name-in-between";
    /// A compare is answered by values that may not be compared (row X2).
    /// Ten thousand of them would find any number of four digits.
    COMPARE_NOT_JUDGED = "compare-not-judged";
    /// An entry that is hidden takes a place of those that a search may return (row X5).
    /// The limit of a client's own choice would tell how many there are.
    HIDDEN_COUNTED = "hidden-counted";
    /// memberOf has groups that are hidden, and filters on it test them (row X1).
    /// Who may read people would learn which secret groups there are, and who is in them.
    MEMBER_OF_HIDDEN_GROUP = "member-of-hidden-group";
    /// An entry shows collective attributes that may not be read of it (row X1).
    /// What is hidden of some entries would be shown, for the subentry that has it is not hidden.
    COLLECTIVE_NOT_JUDGED = "collective-not-judged";
    /// Anybody may refresh dynamic entries, and learns so which there are (row X6).
    /// Who has gone would be shown as present for as long as somebody likes.
    REFRESH_NOT_JUDGED = "refresh-not-judged";
    /// A search is sorted by values that its client may not read (row X5).
    /// The order of the entries would tell the values of those between two others that are known.
    SORTED_BY_HIDDEN = "sorted-by-hidden";
    /// The positions in a list view are those of an index, whatever its client may see (row X5).
    /// The length of the list, or the place of an entry, would tell of those that are hidden.
    POSITIONS_OF_HIDDEN = "positions-of-hidden";
    /// An update brings back all of its entry that its client asks for (row X4).
    /// Who may write an attribute would read it by a change that changes nothing.
    READ_ENTRY_NOT_JUDGED = "read-entry-not-judged";
    /// Matched values are returned that may not be read (row X1).
    /// Who is hidden in a list would be found by asking for the name.
    MATCHED_UNREADABLE = "matched-unreadable";
    /// The dereference control brings attributes of entries that are hidden (row X3).
    /// A client that may write a name into its own entry would read what has this name.
    DEREFERENCED_HIDDEN = "dereferenced-hidden";
    /// A cancel ends any search of its connection (row S6).
    /// Who acts as another user for one request would end what was asked for in the name of a third one.
    CANCEL_NOT_JUDGED = "cancel-not-judged";
    /// A text that refuses a compare has what the entry stores as its password (row X11).
    /// Texts go to logs and screens, so who may not read the value would be shown it without asking for it.
    VALUE_SHOWN = "value-shown";
    /// A text that refuses an update for a value of another entry repeats the value (row X11).
    /// Who may move an entry would be shown values of it that he may not read.
    CONSTRAINT_SHOWS_VALUE = "constraint-shows-value";
    /// Entries of other servers are returned with attributes that may not be read of the referral object (row X3).
    /// Who may know that it is there would read all that the server itself may read at the other one.
    CHAINED_NOT_JUDGED = "chained-not-judged";
    /// A filter is sent to other servers with attributes that may not be tested (row X3).
    /// A client would learn values of a hidden attribute by guesses.
    CHAINED_FILTER_NOT_JUDGED = "chained-filter-not-judged";
    /// A filter is sent to other servers though a subtype of what it names may not be tested (row X3).
    /// A client would learn values of a hidden attribute by guesses on a more general one.
    CHAINED_SUBTYPES_NOT_JUDGED = "chained-subtypes-not-judged";
    /// An update is sent to other servers without the rights that it needs on the referral object (row X6).
    /// Who may know that it is there would change all that the server itself may change at the other one.
    CHAINED_UPDATE_NOT_JUDGED = "chained-update-not-judged";
    /// A compare is sent to other servers for an attribute that may not be compared (row X3).
    /// A client would learn values of a hidden attribute by guesses.
    CHAINED_COMPARE_NOT_JUDGED = "chained-compare-not-judged";
    /// Entries behind a referral object that a search has found come though it may not be searched there (row X3).
    /// A client would be shown what another server has for others.
    CHAINED_BELOW_NOT_JUDGED = "chained-below-not-judged";
    /// A text that refuses to delete or rename an entry names the entry that refers to it (row X11).
    /// Who may delete an account would be shown the names of groups that he may not see.
    CONSTRAINT_SHOWS_REFERRING = "constraint-shows-referring";
    /// No password is verified for a name that has none (row P6).
    /// The answer would come earlier than that of a wrong password, and so say which names there are (the CVE-2020-35518 class).
    NOBODY_NOT_VERIFIED = "nobody-not-verified";
    /// A search by a value that no entry has is over at once, also if its client may not test the attribute (row X2).
    /// A right guess at a hidden value would take longer than a wrong one.
    GUESS_ANSWERED_EARLY = "guess-answered-early";
    /// A replica refuses what the log has for want of memory of its own, and so cannot go on.
    /// A follower with less memory than the leader, or with older readers, would stop.
    MEMORY_STOPS_FOLLOWER = "memory-stops-follower";
    /// A replica refuses what the log has where its own table has too many sets of attribute options.
    /// Which sets a table has depends on the start: one that began with a snapshot has no sets of shapes that no entry has any more.
    OPTIONS_BY_ONE = "options-by-one";
    /// Reads that wait with updates are answered in front of these (row cluster).
    /// A client that takes answers in the order of its requests would take one for another.
    ANSWERS_OUT_OF_ORDER = "answers-out-of-order";
}
