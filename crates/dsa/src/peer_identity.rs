//! Who the client at the other end of a Unix socket is: the system knows its user and group, and the configuration which entry that is.

use crate::config::{MappedTo, PeerMapping};
use crate::context::Reading;
use crate::identity::Identity;
use crate::lookup;
use env::net::Credentials;
use proto::filter_string;

/// Who has these credentials. `None` if nobody is known by them.
///
/// The first mapping of user and group that leads to one entry counts. One that names this very user is the last that is looked at; else
/// the superuser and the user that the server runs as are the root DN: they can read the server's memory and its files.
pub(crate) fn identity_of(reading: &mut Reading<'_>, credentials: Credentials) -> Option<Identity> {
    let dsa = reading.dsa;
    let fits = |mapping: &&PeerMapping| {
        mapping.uid.is_none_or(|uid| uid == credentials.uid)
            && mapping.gid.is_none_or(|gid| gid == credentials.gid)
    };
    for mapping in dsa.config.peers.mappings.iter().filter(fits) {
        let found = mapped(reading, mapping, credentials);
        if found.is_some() || mapping.uid.is_some() {
            return found;
        }
    }
    let is_root = credentials.uid == 0 || Some(credentials.uid) == dsa.config.peers.own_uid;
    is_root.then(|| match dsa.config.root_dn {
        Some(_) => dsa.root(),
        None => Identity { dn: name(credentials).into_bytes(), ..dsa.root() },
    })
}

/// The name that a client of a Unix socket has before it is mapped to an entry, as in OpenLDAP. Where there is no root DN it is that of
/// those who have its rights.
fn name(Credentials { uid, gid, .. }: Credentials) -> String {
    format!("gidNumber={gid}+uidNumber={uid},cn=peercred,cn=external,cn=auth")
}

/// What a mapping leads to. The numbers are the system's, so no value that a client chose is put into the filter.
fn mapped(reading: &mut Reading<'_>, mapping: &PeerMapping, of: Credentials) -> Option<Identity> {
    let (dsa, read_point) = (reading.dsa, reading.read_point);
    let evaluator = &mut reading.scratch.evaluator;
    let id = match &mapping.to {
        MappedTo::Dn(dn) if dsa.is_root(dn.as_bytes()) => return Some(dsa.root()),
        MappedTo::Dn(dn) => read_point.resolve(dn.as_bytes(), &mut evaluator.cache).ok()?,
        MappedTo::Filter { base, filter } => {
            let text = filter.replace("{uid}", &of.uid.to_string()).replace("{gid}", &of.gid.to_string());
            let filter = filter_string::parse(text.as_bytes()).ok()?;
            lookup::find_one(read_point, evaluator, base.as_deref().map(str::as_bytes), &filter.filter())?
        }
    };
    Some(dsa.identity_of(read_point, &read_point.entry(id)?, &mut evaluator.cache))
}
