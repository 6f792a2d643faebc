//! A simulated world for tests, from one seed: a disk that keeps no more than it promises, clients, and incarnations of a whole
//! server between them. Nothing of the product uses it.

pub mod answers;
pub mod clients;
pub mod clock;
pub mod cluster;
pub mod consumer;
pub mod counted;
pub mod disk;
pub mod faults;
pub mod faulty;
pub mod followers;
mod guards;
pub mod hooked;
pub mod late;
pub mod network;
pub mod node;
pub mod operator;
pub mod oracle;
pub mod plan;
pub mod power_loss;
pub mod power_loss_of_group;
pub mod precedence;
pub mod properties;
pub mod random;
pub mod recorder;
pub mod requests;
pub mod seeds;
pub mod threads;
pub mod trace;
pub mod view;
mod workload;
pub mod workloads;
pub mod world;
