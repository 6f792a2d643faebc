//! Clock, disk, memory, network, entropy and tasks: the only door to the outside world.

pub mod clock;
pub mod disk;
pub mod entropy;
pub mod fast;
pub mod host;
pub mod line_file;
pub mod lines;
pub mod log_file;
pub mod log_socket;
pub mod memory;
pub mod net;
pub mod planted;
pub mod poll;
pub mod ring;
pub mod rotation;
pub mod stamp;
pub mod stream;
pub mod task;
pub mod terminal;
