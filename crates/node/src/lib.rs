//! A directory that lasts: what commits its updates, what recovers it, its data directory, snapshots and backups. No
//! sockets and no configuration.

pub mod commit;
mod compare;
pub mod data;
pub mod faults;
mod forward;
mod health;
pub mod indexer;
pub mod keep;
mod parcels;
#[cfg(test)]
mod test_updates;
pub mod transfer;
pub mod upgrade;
