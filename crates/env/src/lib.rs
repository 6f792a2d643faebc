//! Clock, memory, network, entropy and tasks: the only door to the outside world.
