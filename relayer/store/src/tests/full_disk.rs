//! A disk fills up and empties again: answered writes are kept, and writing resumes without a restart.
//!
//! The disks are real: a tmpfs, and an ext4 on a loop device, of a few megabytes each. Mounting needs root (as CI has);
//! without it the test says so on standard error and does nothing.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use futures::future::join_all;
use tempfile::TempDir;

use super::*;

/// More than all payments of a test and their log need, so that an emptied disk has room.
const DISK_MEBIBYTES: u64 = 20;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Tmpfs,
    Ext4,
}

/// A mounted file system; unmounted when dropped.
struct SmallDisk {
    /// Holds the image and the mount point.
    folder: TempDir,
}

impl SmallDisk {
    /// `None` when this user or machine cannot mount.
    fn mount(kind: Kind) -> Option<Self> {
        let disk = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(disk.place()).expect("a folder");
        let mut mount = Command::new("mount");
        match kind {
            Kind::Tmpfs => {
                mount.args(["-t", "tmpfs", "-o", &format!("size={DISK_MEBIBYTES}m"), "tmpfs"]);
            }
            Kind::Ext4 => {
                let image = disk.folder.path().join("image");
                File::create(&image).expect("a file").set_len(DISK_MEBIBYTES << 20).expect("a sparse file");
                // Blocks as large as pages, as on disks of usual size. With smaller ones, a write to memory-mapped file
                // pages can run out of space, which raises a signal instead of an error.
                if !succeeds(Command::new("mkfs.ext4").args(["-q", "-m", "0", "-b", "4096"]).arg(&image)) {
                    return skipped(kind);
                }
                mount.args(["-o", "loop"]).arg(&image);
            }
        }
        if succeeds(mount.arg(disk.place())) { Some(disk) } else { skipped(kind) }
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn ballast(&self) -> PathBuf {
        self.place().join("ballast")
    }

    /// Fills the free space except `left` bytes.
    fn fill(&self, left: u64) {
        let mut file = File::create(self.ballast()).expect("a file");
        let mut size = 0;
        let block = [1; 4096];
        while let Ok(written) = file.write(&block) {
            size += written as u64;
        }
        file.set_len(size.saturating_sub(left)).expect("shrunk");
        // Delayed allocations do not occupy space yet.
        let _ = file.sync_all();
    }

    fn empty(&self) {
        fs::remove_file(self.ballast()).expect("removed");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.place()).stderr(Stdio::null()).status();
    }
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn skipped(kind: Kind) -> Option<SmallDisk> {
    let _ = writeln!(std::io::stderr(), "skipped: a full {kind:?}, since nothing can be mounted here");
    None
}

async fn on(disk: &SmallDisk) -> Fixture {
    let folder = tempfile::tempdir_in(disk.place()).expect("a folder");
    Fixture::in_place(Place::Folder(folder)).await
}

/// A payment's steps up to its signature, as far as they succeed.
async fn pays(fixture: &Fixture, number: u32) -> Result<Transfer, StoreError> {
    let mut new = fixture.transfer(0, &format!("key {number}"));
    new.transfer.id = TransferId::from_bytes((u128::from(number) << 64).to_be_bytes());
    let Claim::New(transfer) = fixture.store.transfers.claim_transfer(&new, clock(0)).await? else {
        panic!("{number} is not new")
    };
    fixture.store.transfers.mark_signed(&transfer, signed(1), at(1)).await
}

/// Pays twelve at a time until one fails or the numbers run out; returns the successful ones.
async fn pay_until_it_fails(fixture: &Fixture, numbers: std::ops::Range<u32>) -> Vec<Transfer> {
    let mut paid = Vec::new();
    let numbers: Vec<u32> = numbers.collect();
    for group in numbers.chunks(12) {
        let answers = join_all(group.iter().map(|number| pays(fixture, *number))).await;
        let failed = answers.iter().any(Result::is_err);
        paid.extend(answers.into_iter().filter_map(Result::ok));
        if failed {
            break;
        }
    }
    paid
}

#[tokio::test]
async fn writing_goes_on_when_a_full_disk_has_room_again() {
    for kind in [Kind::Tmpfs, Kind::Ext4] {
        let Some(disk) = SmallDisk::mount(kind) else { continue };
        let fixture = on(&disk).await;
        let mut kept = Vec::new();
        // The remaining space decides where it fails: in the statement, in the commit, or in a checkpoint.
        for (round, left) in [0, 4_096, 20_000, 100_000, 500_000, 0].into_iter().enumerate() {
            let first = round as u32 * 10_000;
            kept.extend(pay_until_it_fails(&fixture, first..first + 100).await);
            disk.fill(left);
            let until_full = pay_until_it_fails(&fixture, first + 1_000..first + 9_000).await;
            assert!(until_full.len() < 8_000, "{kind:?}, {left} left: the disk never was full");
            kept.extend(until_full);
            // When several at once find no space, a single one may still find some.
            let mut alone = first + 9_000..first + 9_400;
            let is_full = loop {
                let Some(number) = alone.next() else { break false };
                match pays(&fixture, number).await {
                    Ok(transfer) => kept.push(transfer),
                    Err(_) => break true,
                }
            };
            assert!(is_full, "{kind:?}, {left} left: not full for one");
            disk.empty();
            let after = pays(&fixture, first + 9_500).await;
            kept.push(after.unwrap_or_else(|error| panic!("{kind:?}, {left} left, round {round}: {error}")));
        }
        all_are_kept(&fixture, &kept).await;
    }
}

#[tokio::test]
async fn writes_that_a_full_disk_kept_in_the_log_reach_the_database_later() {
    for kind in [Kind::Tmpfs, Kind::Ext4] {
        let Some(disk) = SmallDisk::mount(kind) else { continue };
        let fixture = on(&disk).await;
        // The log has its space, and has passed the length that triggers a checkpoint.
        let mut kept = pay_until_it_fails(&fixture, 0..1_200).await;
        disk.fill(1_500_000);
        kept.extend(pay_until_it_fails(&fixture, 10_000..18_000).await);
        disk.empty();
        kept.extend(pay_until_it_fails(&fixture, 20_000..21_200).await);
        assert!(kept.len() > 2_400, "{kind:?}: {}", kept.len());
        fixture.store.close().await;
        let again = fixture.reopen().await;
        let fixture = Fixture { store: again, ..fixture };
        all_are_kept(&fixture, &kept).await;
    }
}

async fn all_are_kept(fixture: &Fixture, kept: &[Transfer]) {
    for transfer in kept {
        let found =
            fixture.store.transfers.find_transfer(transfer.operator_id, transfer.id).await.expect("read");
        assert_eq!(found.expect("what was answered is there").state, transfer.state);
    }
    let rows: Vec<String> =
        query("PRAGMA integrity_check").fetch_all(fixture.store.reader()).await.expect("checked");
    assert_eq!(rows, ["ok"]);
}
