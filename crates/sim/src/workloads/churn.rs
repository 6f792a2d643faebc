//! Every session adds folders with entries below them, renames folders, and removes what it added. No name comes twice,
//! so what is gone must never be seen again.

use crate::random::Random;
use crate::requests::{Bundle, SUFFIX, Sent};
use crate::view::View;
use crate::workload::Workload;

/// Folders that a session keeps.
const FOLDERS_MAX: usize = 6;

/// A folder and the names of what is below it.
#[derive(Debug)]
struct Folder {
    dn: String,
    entries: Vec<String>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Churn {
    /// Of each session: folders that may be there.
    folders: Vec<Vec<Folder>>,
    /// Names given so far.
    names: u64,
}

impl Churn {
    pub(super) fn new(sessions: usize) -> Churn {
        Churn { folders: (0..sessions).map(|_| Vec::new()).collect(), names: 0 }
    }

    fn name(&mut self, session: usize) -> String {
        self.names += 1;
        format!("f{session}-{}", self.names)
    }

    fn add_folder(&mut self, session: usize, random: &mut Random, to: &mut Bundle) {
        let name = self.name(session);
        let dn = format!("ou={name},{SUFFIX}");
        to.add(&dn, &[("objectClass", "organizationalUnit"), ("ou", &name)], Sent::Add(dn.clone()));
        let mut entries = Vec::new();
        for _ in 0..random.below(4) {
            let cn = self.name(session);
            let text = "x".repeat(random.below(300) as usize + 1);
            let attributes = [("objectClass", "device"), ("cn", &*cn), ("description", &*text)];
            let entry = format!("cn={cn},{dn}");
            to.add(&entry, &attributes, Sent::Add(entry.clone()));
            entries.push(entry);
        }
        self.folders[session].push(Folder { dn, entries });
    }

    /// The entries first: a folder with something below it stays.
    fn remove_folder(&mut self, session: usize, at: usize, to: &mut Bundle) {
        let folder = self.folders[session].remove(at);
        for dn in folder.entries.iter().chain([&folder.dn]) {
            to.delete(dn, Sent::Remove(dn.clone()));
        }
    }

    fn rename_folder(&mut self, session: usize, at: usize, to: &mut Bundle) {
        let name = self.name(session);
        let folder = self.folders[session].remove(at);
        to.rename(&folder.dn, &format!("ou={name}"), Sent::Remove(folder.dn.clone()));
        let dn = format!("ou={name},{SUFFIX}");
        let moved = |entry: &String| entry.replace(&folder.dn, &dn);
        let entries = folder.entries.iter().map(moved).collect();
        self.folders[session].push(Folder { dn, entries });
    }
}

impl Workload for Churn {
    fn setup(&mut self, _: &mut Bundle) {}

    fn start(&mut self, session: usize, random: &mut Random, to: &mut Bundle) {
        for _ in 0..=random.below(3) {
            let folders = self.folders[session].len();
            let at = random.below(folders.max(1) as u64) as usize;
            match random.below(8) {
                _ if folders >= FOLDERS_MAX => self.remove_folder(session, at, to),
                0 | 1 if folders > 0 => self.remove_folder(session, at, to),
                2 | 3 if folders > 0 => self.rename_folder(session, at, to),
                _ => self.add_folder(session, random, to),
            }
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        let numbers = view.entries.keys().filter_map(|dn| dn.strip_prefix("ou=f")?.split_once('-'));
        let numbers = numbers.filter_map(|(_, rest)| rest.split(',').next()?.parse::<u64>().ok());
        match numbers.max() {
            Some(number) if number > self.names => Err(format!("nobody has sent the name {number}")),
            _ => Ok(()),
        }
    }
}
