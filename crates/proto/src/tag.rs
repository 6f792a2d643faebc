//! Identifier octets of LDAP (RFC 4511 appendix B). All fit one byte.

/// BOOLEAN
pub const BOOLEAN: u8 = 0x01;
/// INTEGER
pub const INTEGER: u8 = 0x02;
/// OCTET STRING, primitive; LDAP has no constructed ones
pub const OCTET_STRING: u8 = 0x04;
/// ENUMERATED
pub const ENUMERATED: u8 = 0x0a;
/// SEQUENCE and SEQUENCE OF
pub const SEQUENCE: u8 = 0x30;
/// SET OF
pub const SET: u8 = 0x31;

/// BindRequest
pub const BIND: u8 = 0x60;
/// BindResponse
pub const BIND_RESPONSE: u8 = 0x61;
/// UnbindRequest
pub const UNBIND: u8 = 0x42;
/// SearchRequest
pub const SEARCH: u8 = 0x63;
/// SearchResultEntry
pub const SEARCH_ENTRY: u8 = 0x64;
/// SearchResultDone
pub const SEARCH_DONE: u8 = 0x65;
/// SearchResultReference
pub const SEARCH_REFERENCE: u8 = 0x73;
/// ModifyRequest
pub const MODIFY: u8 = 0x66;
/// ModifyResponse
pub const MODIFY_RESPONSE: u8 = 0x67;
/// AddRequest
pub const ADD: u8 = 0x68;
/// AddResponse
pub const ADD_RESPONSE: u8 = 0x69;
/// DelRequest
pub const DELETE: u8 = 0x4a;
/// DelResponse
pub const DELETE_RESPONSE: u8 = 0x6b;
/// ModifyDNRequest
pub const MODIFY_DN: u8 = 0x6c;
/// ModifyDNResponse
pub const MODIFY_DN_RESPONSE: u8 = 0x6d;
/// CompareRequest
pub const COMPARE: u8 = 0x6e;
/// CompareResponse
pub const COMPARE_RESPONSE: u8 = 0x6f;
/// AbandonRequest
pub const ABANDON: u8 = 0x50;
/// ExtendedRequest
pub const EXTENDED: u8 = 0x77;
/// ExtendedResponse
pub const EXTENDED_RESPONSE: u8 = 0x78;
/// IntermediateResponse
pub const INTERMEDIATE: u8 = 0x79;

/// Primitive context tag `[n]`, n at most 30.
pub const fn context(n: u8) -> u8 {
    assert!(n < 31);
    0x80 | n
}

/// Constructed context tag `[n]`, n at most 30.
pub const fn context_constructed(n: u8) -> u8 {
    assert!(n < 31);
    0xa0 | n
}

/// The tag of the (last) response to a request; none for unbind, abandon and what is no request.
pub fn response_to(request: u8) -> Option<u8> {
    Some(match request {
        BIND => BIND_RESPONSE,
        SEARCH => SEARCH_DONE,
        MODIFY => MODIFY_RESPONSE,
        ADD => ADD_RESPONSE,
        DELETE => DELETE_RESPONSE,
        MODIFY_DN => MODIFY_DN_RESPONSE,
        COMPARE => COMPARE_RESPONSE,
        EXTENDED => EXTENDED_RESPONSE,
        _ => return None,
    })
}
