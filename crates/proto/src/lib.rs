//! Every encoding: BER, LDAPMessage, operations, controls, LDIF. Sans-IO, no unsafe.
