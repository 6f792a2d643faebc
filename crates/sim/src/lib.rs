//! A simulated world for tests, from one seed. Nothing of the product uses it.

pub mod disk;
