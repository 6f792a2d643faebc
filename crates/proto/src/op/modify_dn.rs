//! Modify DN (RFC 4511 section 4.9); the response is an LDAPResult.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;

const NEW_SUPERIOR: u8 = tag::context(0);

/// ModifyDNRequest
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModifyDn<'a> {
    /// DN of the entry, which may have subordinates.
    pub dn: &'a [u8],
    /// Its new RDN.
    pub new_rdn: &'a [u8],
    /// Do the values of the old RDN leave the entry?
    pub delete_old_rdn: bool,
    /// DN of the new parent, if it moves.
    pub new_superior: Option<&'a [u8]>,
}

impl<'a> ModifyDn<'a> {
    pub(crate) fn decode(mut body: Reader<'a>) -> Result<ModifyDn<'a>, Error> {
        let dn = body.text("expected the DN of an entry")?;
        let new_rdn = body.text("expected a new RDN")?;
        let delete_old_rdn = body.boolean("expected deleteoldrdn")?;
        let at = body.offset();
        let new_superior = body.optional(NEW_SUPERIOR)?;
        ber::check_utf8(new_superior.unwrap_or_default(), at)?;
        body.finish(&[0])?;
        Ok(ModifyDn { dn, new_rdn, delete_old_rdn, new_superior })
    }

    /// Appends the request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mark = ber::begin(out, tag::MODIFY_DN);
        ber::put_octets(out, self.dn);
        ber::put_octets(out, self.new_rdn);
        ber::put_boolean(out, tag::BOOLEAN, self.delete_old_rdn);
        self.new_superior.iter().for_each(|dn| ber::put_tlv(out, NEW_SUPERIOR, dn));
        ber::end(out, mark);
    }
}
