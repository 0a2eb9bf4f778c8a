//! What an audit reads and keeps on disk.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use purser_replay::AuditError;
use purser_replay::archive::{Archive, Files, PARTS};
use purser_replay::denials::Lines;

/// More than the list of a million transactions.
const FILE_BYTES_MAX: u64 = 512 * 1_024 * 1_024;

struct Folder(PathBuf);

/// The archive of a directory, for writing; the directory is made if it is missing.
pub fn archive_in(folder: &Path) -> Result<Archive, AuditError> {
    for part in PARTS {
        let path = folder.join(part);
        fs::create_dir_all(&path).map_err(|cause| AuditError::File { path, cause })?;
    }
    Ok(Archive::over(Folder(folder.to_owned())))
}

/// The archive that an earlier audit saved, for reading only.
pub fn saved_in(folder: &Path) -> Result<Archive, AuditError> {
    Archive::saved(Folder(folder.to_owned()))
}

impl Files for Folder {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, AuditError> {
        match read_regular(&self.path(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(AuditError::File { path: self.path(name), cause }),
        }
    }

    /// Writes under another name first, so that an existing file is complete.
    fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), AuditError> {
        let path = self.path(name);
        let beside = path.with_extension("part");
        let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, &path));
        written.map_err(|cause| AuditError::File { path, cause })
    }

    fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn names(&self, part: &str) -> Result<Vec<String>, AuditError> {
        let failed = |cause| AuditError::File { path: self.path(part), cause };
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(part)).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            // What an interruption left is no part of it.
            names.extend(name.to_str().filter(|it| it.ends_with(".json")).map(|it| format!("{part}/{it}")));
        }
        Ok(names)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// A directory may be anybody's: a pipe never ends, and a link leads anywhere.
fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    if found.len() > FILE_BYTES_MAX {
        return Err(std::io::Error::new(
            ErrorKind::FileTooLarge,
            "it is longer than any that an audit saves",
        ));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file, line by line.
pub(crate) struct LinesOf(pub PathBuf);

impl Lines for LinesOf {
    fn open(&self) -> std::io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(BufReader::new(fs::File::open(&self.0)?)))
    }

    fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interruption_left_is_no_part_of_an_archive() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let archive = archive_in(folder.path()).expect("the folder is writable");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("the folder is writable");
        };
        write("audit.json", "{}");
        write("transactions/a.json", "1");
        let root = archive.root().expect("it is readable");
        write("transactions/b.part", "2");
        assert_eq!(archive.root().expect("it is readable"), root);
        write("transactions/b.json", "2");
        assert_ne!(archive.root().expect("it is readable"), root);
    }
}
