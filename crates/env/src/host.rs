//! What this machine and process have: memory and descriptors; and what they are called.

mod group;

use std::path::Path;
use std::sync::OnceLock;

/// Raises the number of descriptors that this process may hold to what the system allows it, and returns it.
pub fn raise_descriptor_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    current.unwrap_or(u64::MAX)
}

/// File descriptors that this process may hold.
pub fn descriptor_limit() -> u64 {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Number of the user that the process runs as: of that whose rights it has.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The name of this machine, as the system has it: often without a domain.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Threads of this process. `None` where the system does not say.
pub fn threads() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    field(&status, "Threads:")
}

/// Bytes of memory of the machine, or of the control group that this process is in, or of one above it, when that is less.
/// `None` where the system does not say. It is read once: every directory that is begun asks, of which a simulator begins thousands.
pub fn memory_bytes() -> Option<u64> {
    static BYTES: OnceLock<Option<u64>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let meminfo = std::fs::read_to_string("/proc/meminfo").ok();
        let machine = meminfo.as_deref().and_then(|text| kib_field(text, "MemTotal:"));
        machine.into_iter().chain(group::memory_limit(Path::new("/"))).min()
    })
}

/// Bytes of memory of this process that are resident now. `None` where the system does not say.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    kib_field(&status, "VmRSS:")
}

/// The field `name` of a /proc file, given there in KiB, in bytes.
fn kib_field(text: &str, name: &str) -> Option<u64> {
    field(text, name).map(|kib| kib << 10)
}

/// The number in the field `name` of a /proc file.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_kib() {
        assert_eq!(kib_field("MemTotal:       24 kB\nMemFree: 1 kB\n", "MemTotal:"), Some(24 << 10));
        assert_eq!(kib_field("MemFree: 1 kB\n", "MemTotal:"), None);
    }

    #[test]
    fn this_process_is_smaller_than_the_machine() {
        assert!(resident_bytes().unwrap() < memory_bytes().unwrap());
        assert!(threads().unwrap() >= 1 && descriptor_limit() >= 3);
    }
}
