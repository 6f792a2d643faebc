//! The Directory System Agent: session, bundle, dispatch, operations, access control.
