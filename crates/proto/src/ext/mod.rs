//! Extended operations and unsolicited notifications, one file each.

pub mod aborted_transaction;
pub mod cancel;
pub mod end_transaction;
pub mod notice_of_disconnection;
pub mod password_modify;
pub mod refresh;
pub mod start_tls;
pub mod start_transaction;
pub mod who_am_i;
