//! Millions of entries without the front door: LDIF import.
