//! A simulated world for tests, from one seed: a disk that keeps no more than it promises, clients, and lives of a whole
//! server between them. Nothing of the product uses it.

pub mod answers;
pub mod clients;
pub mod clock;
pub mod disk;
pub mod node;
pub mod oracle;
pub mod plan;
pub mod properties;
pub mod random;
pub mod requests;
pub mod seeds;
pub mod trace;
pub mod view;
pub mod workloads;
pub mod world;
