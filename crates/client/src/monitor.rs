//! What a server tells of itself at `cn=Monitor`.

use crate::error::ClientError;
use crate::link::Link;
use crate::server::Server;
use crate::values::values;
use proto::message::Request;

const MODE: &[u8] = b"cn=Mode,cn=Log,cn=Monitor";
const INFO: &[u8] = b"monitoredInfo";

/// When a server's writes count as done: its sync mode, or `memory`. `None` if it has no such entry to show: it is another, or who asks
/// may not read it.
///
/// # Errors
/// What the network or the server says.
pub fn durability(server: &Server) -> Result<Option<String>, ClientError> {
    let mut link = Link::open(server)?;
    let found = match values(&mut link, MODE, INFO) {
        Ok(found) => found,
        Err(ClientError::Refused(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    link.push(|out, id| Request::Unbind.encode(out, id, &[]));
    link.send();
    Ok(found.first().map(|mode| String::from_utf8_lossy(mode).into_owned()))
}
