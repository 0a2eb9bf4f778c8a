//! Lists the migrations for `src/store/tables.rs`. `sqlx::migrate!` does the same, but compiles sqlx a second time for it.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=migrations");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("migrations");
    let files = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>, Box<dyn Error>>>()?;
    let mut files: Vec<_> =
        files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "sql")).collect();
    files.sort();
    let mut list = String::from("[");
    for file in files {
        let name = file.file_stem().and_then(|name| name.to_str()).ok_or("a migration has a name")?;
        let (version, subject) = name.split_once('_').ok_or("a migration is called VERSION_SUBJECT.sql")?;
        let (version, subject) = (version.parse::<i64>()?, subject.replace('_', " "));
        writeln!(list, "({version}, {subject:?}, include_str!({file:?})),")?;
    }
    list.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("migrations.rs"), list)?;
    Ok(())
}
