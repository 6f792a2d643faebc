//! Wiring only: listeners, configuration, shutdown.
