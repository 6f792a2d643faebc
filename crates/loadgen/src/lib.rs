//! Load generator: data templates, workloads, histograms, the null responder.
//!
//! Two halves. [`generate`] makes directories: a template (text in the language of [`template`]) is evaluated entry by entry
//! and written as LDIF or as a stream of AddRequests. [`mod@bench`] sends operations as fast as one machine can and
//! checks every answer, with [`null`] as the limit of kernel and machine: a responder that does almost nothing.

mod add;
pub mod bench;
pub mod entry;
pub mod generate;
mod group;
pub mod null;
pub mod order;
pub mod random;
mod socket;
pub mod template;
mod wire;
