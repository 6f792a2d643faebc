//! The rows of what connections need to be protected by.
//!
//! All of it is decided before the log: a replay needs none of it.

use super::{Holds, put};
use crate::settings::row::{Row, Scope, Values};
use crate::settings::value::number;

impl<T: Holds> Row<T> {
    /// Those of the section `security`. A connection takes them when it begins.
    pub(super) const SECURITY: &'static [Row<T>] = &[
        Row {
            // Without a value it depends on where the client is, so there is no number to show.
            name: "security.password",
            form: "BITS",
            values: Values::One,
            scope: Scope::Directory,
            default: "none: 1, and 0 for clients on this machine",
            text: "Bits of the key that must protect a connection on which a password comes: of a bind, a password modify, or an \
                   add or a modify with a password in it. 0: none; 1: any TLS. Others are answered confidentialityRequired, and \
                   nothing is looked up.",
            set: |c, v| {
                put(&mut c.choices_mut().security.password_strength, v, |t| number(t, 0, 256).map(Some))
            },
            show: |c| c.choices().security.password_strength.iter().map(u16::to_string).collect(),
        },
        Row {
            // As all of these it is of the connection, from when that begins.
            name: "security.read",
            form: "BITS",
            values: Values::One,
            scope: Scope::Directory,
            default: "0",
            text: "Bits of the key that must protect a connection on which searches and compares come; others are answered confidentialityRequired.",
            set: |c, v| put(&mut c.choices_mut().security.read_strength, v, |t| number(t, 0, 256)),
            show: |c| vec![c.choices().security.read_strength.to_string()],
        },
        Row {
            // Judged by each update, by what its connection began with.
            name: "security.write",
            form: "BITS",
            values: Values::One,
            scope: Scope::Directory,
            default: "0",
            text: "The same for updates.",
            set: |c, v| put(&mut c.choices_mut().security.write_strength, v, |t| number(t, 0, 256)),
            show: |c| vec![c.choices().security.write_strength.to_string()],
        },
        Row {
            // The one of a listener counts where it is higher.
            name: "security.any",
            form: "BITS",
            values: Values::One,
            scope: Scope::Directory,
            default: "0",
            text: "The same for every request but bind, unbind, abandon, StartTLS and a base search of the root DSE.",
            set: |c, v| put(&mut c.choices_mut().security.any_strength, v, |t| number(t, 0, 256)),
            show: |c| vec![c.choices().security.any_strength.to_string()],
        },
        Row {
            // The kernel says who is at the other end.
            name: "security.ldapi-ssf",
            form: "BITS",
            values: Values::One,
            scope: Scope::Directory,
            default: "71",
            text: "What a connection over `ldapi://` counts for among bits of keys. Nobody can read it on its way.",
            set: |c, v| put(&mut c.choices_mut().security.ldapi_strength, v, |t| number(t, 0, 256)),
            show: |c| vec![c.choices().security.ldapi_strength.to_string()],
        },
    ];
}
