use super::*;
use env::disk::{Disk as _, SECTOR};
use std::io;

fn disk(seed: u64) -> (SimDisk, PathBuf) {
    let disk = SimDisk::new(seed);
    disk.create_dir(Path::new("d")).unwrap();
    (disk, PathBuf::from("d/f"))
}

#[test]
fn what_is_synced_outlives_power_loss_and_the_rest_does_not_always() {
    let mut lost = 0;
    for seed in 0..50 {
        let (disk, path) = disk(seed);
        let file = disk.create(&path).unwrap();
        file.write_at(&[1; 2048], 0).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir(Path::new("d")).unwrap();
        file.write_at(&[2; 1024], 512).unwrap();
        disk.lose_power();
        assert!(file.read_at(&mut [0], 0).is_err(), "the old process is gone");
        let bytes = disk.bytes(&path).unwrap();
        assert_eq!(bytes.len(), 2048);
        assert!(bytes[..512].iter().chain(&bytes[1536..]).all(|byte| *byte == 1));
        for sector in bytes[512..1536].chunks(SECTOR) {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is whole");
            lost += usize::from(sector[0] == 1);
        }
    }
    assert!(lost > 20 && lost < 80, "{lost}");
}

#[test]
fn names_need_a_sync_of_their_folder() {
    let kept = (0..50).filter(|&seed| {
        let (disk, path) = disk(seed);
        disk.create(&path).unwrap().sync_data().unwrap();
        disk.lose_power();
        disk.bytes(&path).is_some()
    });
    assert!((10..40).contains(&kept.count()));
}

#[test]
fn after_a_failed_sync_a_good_one_does_not_bring_it_back() {
    let lost = (0..50).filter(|&seed| {
        let (disk, path) = disk(seed);
        let file = disk.create(&path).unwrap();
        disk.sync_dir(Path::new("d")).unwrap();
        file.write_at(&[1; 512], 0).unwrap();
        disk.set_faults(Faults {
            fail_at: Some((disk.operations() + 1, io::ErrorKind::Other)),
            ..Faults::default()
        });
        file.sync_data().unwrap_err();
        file.sync_data().unwrap();
        assert_eq!(disk.bytes(&path).unwrap(), [1; 512]);
        disk.lose_power();
        disk.bytes(&path).unwrap() != [1; 512]
    });
    assert!((10..45).contains(&lost.count()));
}

#[test]
fn a_full_disk_refuses_and_a_seed_repeats_itself() {
    let run = |seed| {
        let (disk, path) = disk(seed);
        disk.set_faults(Faults { capacity: Some(4096), ..Faults::default() });
        let file = disk.create(&path).unwrap();
        file.allocate(4096).unwrap();
        assert_eq!(file.write_at(&[0], 4096).unwrap_err().kind(), io::ErrorKind::StorageFull);
        file.write_at(&[seed as u8], 9).unwrap();
        disk.lose_power();
        (disk.trace(), disk.bytes(&path))
    };
    assert_eq!(run(3), run(3));
}

#[test]
fn a_folder_has_its_new_name_once_the_one_above_is_synced() {
    let (mut old, mut new) = (0, 0);
    for seed in 0..50 {
        let (disk, path) = disk(seed);
        disk.create(&path).unwrap().sync_data().unwrap();
        disk.sync_dir(Path::new("d")).unwrap();
        disk.rename(Path::new("d"), Path::new("e")).unwrap();
        assert_eq!(disk.list(Path::new("e")).unwrap(), ["f"]);
        if seed < 5 {
            disk.sync_dir(Path::new("")).unwrap();
        }
        disk.lose_power();
        let names = disk.list_dirs(Path::new("")).unwrap();
        assert!(names.len() == 1 && disk.list(Path::new(&names[0])).unwrap() == ["f"]);
        assert!(seed >= 5 || names[0] == "e");
        *if names[0] == "d" { &mut old } else { &mut new } += 1;
    }
    assert!(old > 10 && new > 10, "{old}, {new}");
}

#[test]
fn folders_go_and_come_again_and_files_have_two_names() {
    for seed in 0..50 {
        let (disk, path) = disk(seed);
        let file = disk.create(&path).unwrap();
        file.write_at(b"x", 0).unwrap();
        file.sync_data().unwrap();
        assert!(disk.remove_dir(Path::new("d")).is_err(), "it is not empty");
        disk.create_dir(Path::new("other")).unwrap();
        disk.link(&path, Path::new("other/g")).unwrap();
        assert!(disk.link(&path, Path::new("other/g")).is_err(), "it is there");
        disk.sync_dir(Path::new("other")).unwrap();
        disk.remove(&path).unwrap();
        disk.remove_dir(Path::new("d")).unwrap();
        assert_eq!(disk.list_dirs(Path::new("")).unwrap(), ["other"]);
        // Durable at once, whatever became of the one before.
        disk.create_dir(Path::new("d")).unwrap();
        disk.lose_power();
        assert_eq!(disk.list_dirs(Path::new("")).unwrap(), ["d", "other"]);
        assert!(disk.list(Path::new("d")).unwrap().is_empty());
        assert_eq!(disk.bytes(Path::new("other/g")).unwrap(), b"x");
        assert!(disk.tree(Path::new("")).len() == 1);
    }
}
