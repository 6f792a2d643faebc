//! The memory that the control groups of this process leave it: cgroups(7), version 1 and 2, inside a container and outside.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Name of the file with a group's limit in hierarchies of version 1.
const VERSION_1: &str = "memory.limit_in_bytes";
/// The same of version 2.
const VERSION_2: &str = "memory.max";

/// Bytes of the tightest memory limit of this process's groups and of all groups above them. `root` stands for `/`. `None` without
/// a limit, and where the system does not say.
pub(super) fn memory_limit(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::parse).collect();
    let limits = groups.lines().filter_map(|line| {
        // hierarchy-ID:controllers:path
        let mut fields = line.splitn(3, ':');
        let (_, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
        let file = match controllers {
            "" => VERSION_2,
            list if list.split(',').any(|name| name == "memory") => VERSION_1,
            _ => return None,
        };
        let of_version = mounts.iter().filter(|mount| mount.file == file);
        of_version.filter_map(|mount| mount.limit_of(root, group)).min()
    });
    limits.min()
}

/// Where a hierarchy of groups with the memory controller is mounted.
#[derive(Debug)]
struct Mount<'m> {
    /// Name of the file with a group's limit, which tells the version.
    file: &'static str,
    /// The group that the mount point shows: in a container that of the container, not the topmost.
    group: &'m str,
    /// The mount point.
    point: &'m str,
}

impl<'m> Mount<'m> {
    /// A line of /proc/self/mountinfo (proc(5)), if it is such a hierarchy.
    fn parse(line: &'m str) -> Option<Mount<'m>> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (group, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1).unwrap_or_default());
        let file = match kind {
            "cgroup2" => VERSION_2,
            "cgroup" if options.split(',').any(|name| name == "memory") => VERSION_1,
            _ => return None,
        };
        Some(Mount { file, group, point })
    }

    /// The tightest limit of `group` and of those above it, as far up as the mount point shows them.
    fn limit_of(&self, root: &Path, group: &str) -> Option<u64> {
        let point = root.join(self.point.trim_start_matches('/'));
        let own = Path::new(group);
        // A group that is not below the mount's is outside of the namespace: only the mount point tells anything then.
        let below = own.strip_prefix(self.group).or_else(|_| own.strip_prefix("/")).unwrap_or(Path::new(""));
        let below: PathBuf =
            below.components().take_while(|part| matches!(part, Component::Normal(_))).collect();
        let limit = |folder: &Path| {
            let text = fs::read_to_string(point.join(folder).join(self.file)).ok()?;
            // Version 2 has the word `max` where there is no limit; version 1 a number that no machine has.
            text.trim().parse::<u64>().ok().filter(|bytes| *bytes < 1 << 60)
        };
        below.ancestors().filter_map(limit).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files as the system shows it.
    fn limit(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        memory_limit(root.path())
    }

    const TWO: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn a_slice_of_systemd_is_seen_from_outside() {
        let service = "sys/fs/cgroup/system.slice/pando.service/memory.max";
        let slice = "sys/fs/cgroup/system.slice/memory.max";
        let own = ("proc/self/cgroup", "0::/system.slice/pando.service\n");
        let files = [("proc/self/mountinfo", TWO), own, (service, "314572800\n"), (slice, "max\n")];
        assert_eq!(limit(&files), Some(300 << 20));
        let files = [("proc/self/mountinfo", TWO), own, (service, "max\n"), (slice, "209715200\n")];
        assert_eq!(limit(&files), Some(200 << 20), "what holds above holds below");
        let files = [("proc/self/mountinfo", TWO), own, (service, "max\n"), (slice, "max\n")];
        assert_eq!(limit(&files), None);
    }

    #[test]
    fn a_container_with_a_namespace_of_its_own() {
        let files = [
            ("proc/self/mountinfo", TWO),
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "1073741824\n"),
        ];
        assert_eq!(limit(&files), Some(1 << 30));
        let outside = [files[0], ("proc/self/cgroup", "0::/../../other\n"), files[2]];
        assert_eq!(limit(&outside), Some(1 << 30));
    }

    #[test]
    fn version_1_with_and_without_a_namespace() {
        let mounts = |group: &str| {
            format!(
                "1 0 0:1 / / rw - ext4 /dev/vda rw\n\
                 33 25 0:28 {group} /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu\n\
                 36 25 0:31 {group} /sys/fs/cgroup/memory rw,nosuid shared:10 - cgroup cgroup rw,memory\n"
            )
        };
        let groups = "5:cpu,cpuacct:/other\n4:memory:/docker/1234/inner\n0::/\n";
        let unlimited = "9223372036854771712\n";
        let inner = "sys/fs/cgroup/memory/docker/1234/inner/memory.limit_in_bytes";
        let top = "sys/fs/cgroup/memory/memory.limit_in_bytes";
        let mounted = mounts("/");
        let files = [
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", &mounted[..]),
            (inner, "314572800"),
            (top, unlimited),
        ];
        assert_eq!(limit(&files), Some(300 << 20));
        // Mounted in a container: the mount point is the container's group.
        let mounted = mounts("/docker/1234");
        let inner = "sys/fs/cgroup/memory/inner/memory.limit_in_bytes";
        let files = [
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", &mounted[..]),
            (inner, unlimited),
            (top, "104857600"),
        ];
        assert_eq!(limit(&files), Some(100 << 20));
    }

    #[test]
    fn without_groups_there_is_no_limit() {
        assert_eq!(limit(&[]), None);
        assert_eq!(limit(&[("proc/self/cgroup", "0::/a\n"), ("proc/self/mountinfo", "nonsense\n")]), None);
        assert_eq!(limit(&[("proc/self/cgroup", "nonsense\n"), ("proc/self/mountinfo", TWO)]), None);
    }
}
