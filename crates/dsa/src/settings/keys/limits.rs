//! The rows of the section `limits` ([docs/limits.md](../../../../../docs/limits.md)).
//!
//! All of them only refuse, or send away, before the log: none decides what comes of an update that the log has.

use super::{Holds, each, put};
use crate::limits;
use crate::settings::network;
use crate::settings::row::{Row, Scope, Values};
use crate::settings::value::{bytes, bytes_within, number};
use model::limits::{
    FOLLOWERS_MAX, MESSAGE_BYTES_MAX, SESSION_SEARCHES_MAX, SORT_BYTES_MAX, SORT_BYTES_MIN, STREAM_BYTES_MAX,
    STREAM_BYTES_MIN, TREE_DELETE_MAX,
};

/// Networks that are trusted: each new connection looks at them.
const NETWORKS_MAX: usize = 16_384;

impl<T: Holds> Row<T> {
    /// Those of limits, in the order in which documentation and template list them.
    pub(super) const LIMITS: &'static [Row<T>] = &[
        Row {
            // A search takes it with the rules, when it begins.
            name: "limits.size",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "0: no limit",
            text: "Entries that one search may return, on all its pages together, except for the root DN.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.search.size_max, v, |t| number(t, 0, i32::MAX as u64))
            },
            show: |c| vec![c.choices().limits.search.size_max.to_string()],
        },
        Row {
            // The same: one that is on its way keeps what it began with.
            name: "limits.time",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "0: no limit",
            text: "Seconds that one search may take, except for the root DN.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.search.time_max_s, v, |t| number(t, 0, i32::MAX as u64))
            },
            show: |c| vec![c.choices().limits.search.time_max_s.to_string()],
        },
        Row {
            // Read for each submission; a higher one gives turns at once.
            name: "limits.update-bytes",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "256MiB",
            text: "Bytes of updates that wait for the log, of all clients together. Clients beyond it wait in order: no \
                   update is refused, but their next requests are not read.",
            set: |c, v| put(&mut c.choices_mut().limits.clients.update_bytes_max, v, bytes),
            show: |c| vec![c.choices().limits.clients.update_bytes_max.to_string()],
        },
        Row {
            name: "limits.tree-delete",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "1000",
            text: "Entries that one delete with the control tree delete takes at once: a larger subtree goes in parts of that \
                   size. 100000 at most.",
            // Other writers wait for each part, and it is one record of the log.
            set: |c, v| {
                put(&mut c.choices_mut().limits.clients.tree_delete_max, v, |t| number(t, 1, TREE_DELETE_MAX))
            },
            show: |c| vec![c.choices().limits.clients.tree_delete_max.to_string()],
        },
        Row {
            name: "limits.sort-bytes",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "64MiB",
            text: "Bytes of the sort keys of one sorted search, 64 KiB to 1 GiB: 64 MiB are about a million entries with short keys. A search that needs more is \
                   refused, or its entries come unsorted.",
            // They count as memory of clients too.
            set: |c, v| {
                put(&mut c.choices_mut().limits.clients.sort_bytes_max, v, |t| {
                    bytes_within(t, SORT_BYTES_MIN as u64, SORT_BYTES_MAX as u64).map(|bytes| bytes as usize)
                })
            },
            show: |c| vec![c.choices().limits.clients.sort_bytes_max.to_string()],
        },
        Row {
            // Each sweep reads it, once a second for each connection.
            name: "limits.idle-timeout",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "3600",
            text: "Seconds that a connection may wait for its next request before it gets a Notice of Disconnection; 0: no limit.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.patience.idle_timeout_s, v, |t| number(t, 0, 1 << 31))
            },
            show: |c| vec![c.choices().limits.patience.idle_timeout_s.to_string()],
        },
        Row {
            // The lower one of both counts.
            name: "limits.idle-anonymous",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "900",
            text: "The same for clients that have not bound, if it is less.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.patience.unbound_idle_timeout_s, v, |t| number(t, 0, 1 << 31))
            },
            show: |c| vec![c.choices().limits.patience.unbound_idle_timeout_s.to_string()],
        },
        Row {
            // It holds until the first request, of every client.
            name: "limits.first-request",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "30",
            text: "Seconds that a new connection may wait with its first request; 0: no limit but `limits.idle-anonymous`.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.patience.first_request_s, v, |t| number(t, 0, 1 << 31))
            },
            show: |c| vec![c.choices().limits.patience.first_request_s.to_string()],
        },
        Row {
            // The wait for a turn is bounded by it, too.
            name: "limits.handshake-timeout",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "10",
            text: "Seconds that a client may take for a TLS handshake; 0: no limit.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.patience.handshake_timeout_s, v, |t| number(t, 0, 1 << 31))
            },
            show: |c| vec![c.choices().limits.patience.handshake_timeout_s.to_string()],
        },
        Row {
            // From the first byte: a byte now and then does not make a message.
            name: "limits.message-timeout",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "120",
            text: "Seconds from the first byte of a request to its last; 0: no limit.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.patience.message_timeout_s, v, |t| number(t, 0, 1 << 31))
            },
            show: |c| vec![c.choices().limits.patience.message_timeout_s.to_string()],
        },
        Row {
            // The least one has room for a bind.
            name: "limits.message-anonymous",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "64KiB",
            text: "Bytes of one request of a client that has not bound, 16 MiB at most. Others may send 16 MiB.",
            set: |c, v| put(&mut c.choices_mut().limits.clients.unbound_message_bytes_max, v, message_bytes),
            show: |c| vec![c.choices().limits.clients.unbound_message_bytes_max.to_string()],
        },
        Row {
            name: "limits.client-memory",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "an eighth of `memory-max`, 64 MiB to 4 GiB",
            text: "Bytes that are kept for all clients together, 64 KiB at least: incomplete requests, answers that clients have not \
                   read, filters of active searches, open transactions. An eighth of it is for clients that have not \
                   bound. When it is used up, requests are not read and long searches are answered busy.",
            set: |c, v| put(&mut c.choices_mut().limits.clients.memory_bytes_max, v, |t| bytes(t).map(Some)),
            show: |c| {
                let chosen = c.choices().limits.clients.memory_bytes_max;
                vec![limits::client_memory(chosen, c.memory_bytes_max()).to_string()]
            },
        },
        Row {
            // Those that are there stay; the next one is counted with them.
            name: "limits.connections",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "0: as many as files may be open, less 128",
            text: "Concurrent connections. Further ones are closed at once; a few more are accepted from the same machine.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.patience.connections_max, v, |t| number(t, 0, 1 << 31))
            },
            show: |c| vec![c.choices().limits.patience.connections_max.to_string()],
        },
        Row {
            // Counted under the lock of the map of addresses.
            name: "limits.connections-per-address",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "1000",
            text: "Concurrent connections of one IPv4 address, or of one IPv6 network of 64 bits. Further ones are closed at once. 0: any number.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.clients.address_connections_max, v, |t| number(t, 0, 1 << 31))
            },
            show: |c| vec![c.choices().limits.clients.address_connections_max.to_string()],
        },
        Row {
            // What an address has used is kept as time.
            name: "limits.failed-binds",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "10",
            text: "Binds of one address that may fail in a second, with a burst of ten times as many; beyond it all are busy. 0: any number.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.clients.failed_binds_per_second, v, |t| {
                    number(t, 0, 1_000_000)
                })
            },
            show: |c| vec![c.choices().limits.clients.failed_binds_per_second.to_string()],
        },
        Row {
            // The same.
            name: "limits.handshakes",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "50",
            text: "TLS handshakes of one address in a second, with a burst of four times as many; a resumed session counts a quarter. Those \
                   beyond it wait as long as `limits.handshake-timeout`, then they are closed. 0: any number.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.clients.handshakes_per_second, v, |t| number(t, 0, 1_000_000))
            },
            show: |c| vec![c.choices().limits.clients.handshakes_per_second.to_string()],
        },
        Row {
            // Looked up when a connection begins.
            name: "limits.trusted",
            form: "NETWORK",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none",
            text: "Addresses and networks for which no limit of an address holds: on connections, handshakes and failed binds.",
            set: |c, v| {
                each(
                    &mut c.choices_mut().limits.clients.trusted,
                    v,
                    (NETWORKS_MAX, "networks are trusted"),
                    network::parse,
                )
            },
            show: |c| c.choices().limits.clients.trusted.iter().map(network::show).collect(),
        },
        Row {
            // Looked at twice a second.
            name: "limits.old-versions",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "a quarter of memory-max",
            text: "Bytes of old versions of changed entries that active searches may hold. Beyond it the oldest search \
                   is ended with adminLimitExceeded, as it is when memory is short.",
            set: |c, v| put(&mut c.choices_mut().limits.search.held_bytes_max, v, |t| bytes(t).map(Some)),
            show: |c| {
                let chosen = c.choices().limits.search.held_bytes_max;
                vec![limits::held_bytes(chosen, c.memory_bytes_max()).to_string()]
            },
        },
        Row {
            name: "limits.old-versions-age",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "60",
            text: "Seconds that a search may hold more than 8 MiB of old versions before it is ended with \
                   adminLimitExceeded; 0: 600 s, the limit of any search.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.search.held_seconds_max, v, |t| number(t, 0, 1 << 31))
            },
            show: |c| vec![c.choices().limits.search.held_seconds_max.to_string()],
        },
        Row {
            // Each sweep reads it.
            name: "limits.write-timeout",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "60",
            text: "Seconds that a client may leave answers unread before its connection is closed; 0: no limit.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.patience.write_timeout_s, v, |t| number(t, 0, 1 << 31))
            },
            show: |c| vec![c.choices().limits.patience.write_timeout_s.to_string()],
        },
        Row {
            // Read when the threads are asked to finish.
            name: "limits.shutdown-timeout",
            form: "SECONDS",
            values: Values::One,
            scope: Scope::Directory,
            default: "10",
            text: "Seconds that connections have to finish their requests when the server ends.",
            set: |c, v| {
                put(&mut c.choices_mut().limits.patience.shutdown_timeout_s, v, |t| number(t, 0, 3600))
            },
            show: |c| vec![c.choices().limits.patience.shutdown_timeout_s.to_string()],
        },
        Row {
            // Each costs a look at all events, and a bit for each entry of its content: memory of its client, which has a bound of its own.
            name: "limits.followers",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "256",
            text: "Searches that [follow changes](change-streams.md) at one time; one more is answered busy.",
            set: |c, v| put(&mut c.choices_mut().followers.all, v, |t| number(t, 0, FOLLOWERS_MAX)),
            show: |c| vec![c.choices().followers.all.to_string()],
        },
        Row {
            // It counts among the active searches of the connection, so it is no more than these.
            name: "limits.followers-per-connection",
            form: "N",
            values: Values::One,
            scope: Scope::Directory,
            default: "8",
            text: "Searches of one connection that follow changes at one time, 64 at most.",
            set: |c, v| {
                put(&mut c.choices_mut().followers.of_session, v, |t| {
                    number(t, 0, SESSION_SEARCHES_MAX as u64)
                })
            },
            show: |c| vec![c.choices().followers.of_session.to_string()],
        },
        Row {
            // Twice of it may be in use for a moment, while a batch comes to it.
            name: "limits.change-memory",
            form: "BYTES",
            values: Values::One,
            scope: Scope::Directory,
            default: "16MiB",
            text: "Bytes of events of changed entries that are kept for searches that follow changes, 64 KiB to 1 GiB; units KiB and MiB. A search \
                   that is further behind is sent away, and begins anew with a cookie.",
            set: |c, v| {
                put(&mut c.choices_mut().followers.bytes, v, |t| {
                    bytes_within(t, STREAM_BYTES_MIN, STREAM_BYTES_MAX)
                })
            },
            show: |c| vec![c.choices().followers.bytes.to_string()],
        },
        Row {
            // By the same subjects as access rules, decided together with them; so they hold for open sessions from when those do.
            name: "limits.rule",
            form: "RULE",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none",
            text: "What some clients may take of the server ([limits](limits.md)): `NAME: SUBJECT; LIMIT=N`, with size, time, \
                   look-through, page, searches, rate, bytes-per-second and unindexed. In the file also a table of that name \
                   for each. The first that fits a client decides.",
            set: |c, v| access::parse_limits(v).map(|rules| c.choices_mut().access.limits = rules),
            show: |c| c.choices().access.limits.iter().map(access::LimitRule::to_string).collect(),
        },
    ];
}

/// Octets of a message of a client that has not bound.
fn message_bytes(text: &str) -> Result<usize, String> {
    bytes_within(text, 1 << 10, MESSAGE_BYTES_MAX as u64).map(|bytes| bytes as usize)
}
