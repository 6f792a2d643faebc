//! Extended operations and unsolicited notifications, one file each.

pub mod notice_of_disconnection;
pub mod password_modify;
pub mod who_am_i;
