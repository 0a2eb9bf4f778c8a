//! `cargo xtask release`: the archive for whoever has no toolchain, what it is made of, and a try of it in an empty root.

mod components;
mod image;
pub mod packages;
mod sbom;
mod trial;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::build::build;
use crate::localnet;
use crate::workspace::{Workspace, command, output_of, run as run_command};
use components::{Components, TARGET};

const PLATFORM: &str = "x86_64-linux";
/// What lies in the archive as it lies in the repository.
const FILES: [(&str, &str); 9] = [
    ("programs/purser/idl/purser.so", "purser.so"),
    ("programs/purser/idl/purser.json", "purser.json"),
    ("programs/purser/idl/purser.ts", "purser.ts"),
    ("deploy/systemd/purser.service", "purser.service"),
    ("deploy/prometheus/alerts.yml", "alerts.yml"),
    ("deploy/archive/README.md", "README.md"),
    ("sdk/python/examples/pay.py", "python/pay.py"),
    ("tests/it/x402/shop.mjs", "x402/shop.mjs"),
    ("LICENSE", "LICENSE"),
];

#[derive(clap::Args)]
pub struct Args {
    /// Take the network that `cargo dev` built, linked anew: spares 16 minutes, but paths of this machine are in it
    #[arg(long, conflicts_with = "twice")]
    quick: bool,
    /// Build everything a second time, in another folder, and fail unless the archives are the same byte for byte
    #[arg(long)]
    twice: bool,
    /// Then unpack it into an empty root without a network, start it and pay: says how long that takes. Needs root, for the root
    #[arg(long = "try")]
    tries: bool,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let commit = commit(workspace)?;
    let archive = made(workspace, &commit, args.quick)?;
    eprintln!("{}: {:.1} MB", archive.display(), megabytes(&archive)?);
    if args.twice {
        let other = copied(workspace)?;
        let again = made(&other, &commit, false)?;
        let (one, two) = (sha256_of(&archive)?, sha256_of(&again)?);
        ensure!(one == two, "{} and {} differ: {one}, {two}", archive.display(), again.display());
        eprintln!("Built again in {}: the same bytes ({one})", other.root.display());
    }
    if args.tries {
        trial::run(&archive, &workspace.target.join("archive/root"))?;
    }
    Ok(())
}

/// Builds, gathers and packs; returns the archive, which has `SHA256SUMS` beside it.
fn made(workspace: &Workspace, commit: &str, is_quick: bool) -> Result<PathBuf> {
    let mut cargo = workspace.cargo("build");
    cargo.args(["--package", "purser-main", "--package", "purser-migrate", "--bins"]);
    cargo.args(["--features", "purser-main/jemalloc"]);
    cargo.env("PURSER_COMMIT", commit);
    build("the service", "about 14 minutes", static_release(workspace, &mut cargo)?)?;
    let network = if is_quick { linked_network(workspace)? } else { static_network(workspace)? };

    let components = Components::of(workspace)?;
    let name = format!("purser-{}-{PLATFORM}", components.version);
    let place = workspace.target.join("archive");
    let folder = place.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let python = folder.join("python/purser_pay");
    let service = workspace.target.join(TARGET).join("release");
    ensure!(
        !has_crash_points(&fs::read(service.join("purser"))?),
        "the relayer has crash points in it: build it without the feature `fault-injection`"
    );
    for program in ["purser", "purser-migrate"] {
        put(&service.join(program), &folder.join(program), 0o755)?;
    }
    put(&network, &folder.join("purser-localnet"), 0o755)?;
    for (from, to) in FILES {
        put(&workspace.root.join(from), &folder.join(to), 0o644)?;
    }
    put_all(&workspace.root.join("docs"), &["md"], &folder.join("docs"))?;
    // It needs no other package, so it runs from where it lies.
    put_all(&workspace.root.join("sdk/python/purser_pay"), &["py", "typed"], &python)?;
    write(&folder.join("LICENSES-THIRD-PARTY.txt"), &components.licences()?)?;
    write(&folder.join("sbom.cdx.json"), &sbom::of(&components)?)?;
    let archive = place.join(format!("{name}.tar.gz"));
    pack(&place, &name, &archive)?;
    let sum = format!("{}  {name}.tar.gz\n", sha256_of(&archive)?);
    write(&place.join("SHA256SUMS"), &sum)?;
    Ok(archive)
}

/// Whether a program reads the variable that names its crash point.
fn has_crash_points(program: &[u8]) -> bool {
    let variable = b"PURSER_CRASH_AT";
    program.windows(variable.len()).any(|bytes| bytes == variable)
}

fn static_network(workspace: &Workspace) -> Result<PathBuf> {
    let mut cargo = localnet::cargo(workspace, "build");
    cargo.env("LD_PRELOAD", same_draws(workspace)?);
    build("the embedded network", localnet::FROM_NOTHING, static_release(workspace, &mut cargo)?)?;
    Ok(localnet::target_dir(workspace).join(TARGET).join("release/purser-localnet"))
}

/// Draws no number at random. The macros of `jsonrpc-derive` write what they make in the order of a hash map, which is another in each
/// process.
const SAME_DRAWS: &str = r"
#include <string.h>
#include <sys/types.h>
ssize_t getrandom(void *numbers, size_t count, unsigned flags) {
    (void)flags;
    memset(numbers, 7, count);
    return (ssize_t)count;
}
";

/// A library that has compilers draw the same numbers each time.
fn same_draws(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("archive");
    fs::create_dir_all(&folder)?;
    let (source, library) = (folder.join("same_draws.c"), folder.join("same_draws.so"));
    write(&source, SAME_DRAWS)?;
    run_command(command("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source))?;
    Ok(library)
}

/// Its crates are no others for a program that holds its C library: only the last step differs.
fn linked_network(workspace: &Workspace) -> Result<PathBuf> {
    localnet::ensure_built(workspace)?;
    let mut cargo = localnet::cargo(workspace, "rustc");
    cargo.args(["--release", "--quiet", "--", "-C", "target-feature=+crt-static", "-C", "strip=symbols"]);
    run_command(&mut cargo)?;
    Ok(localnet::binary(workspace))
}

/// Without a C library to link to at run time, and without a path of this machine in it.
fn static_release<'a>(workspace: &Workspace, cargo: &'a mut Command) -> Result<&'a mut Command> {
    let home = std::env::var_os("HOME").context("there is no HOME")?;
    let cargo_home =
        std::env::var_os("CARGO_HOME").map_or_else(|| Path::new(&home).join(".cargo"), PathBuf::from);
    let mut places = vec![(cargo_home, "/cargo"), (workspace.root.clone(), "/purser")];
    if !workspace.target.starts_with(&workspace.root) {
        places.push((workspace.target.clone(), "/purser/target"));
    }
    let renamed = |option: &str| {
        let each = places.iter().map(|(from, to)| format!("{option}={}={to}", from.display()));
        each.collect::<Vec<_>>().join(" ")
    };
    cargo.args(["--release", "--target", TARGET, "--config", "profile.release.strip=\"symbols\""]);
    if !cargo.get_args().any(|word| word == "--locked") {
        cargo.arg("--locked");
    }
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER"] {
        cargo.env_remove(name);
    }
    let flags = format!("-C target-feature=+crt-static {}", renamed("--remap-path-prefix"));
    cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", flags);
    cargo.env("CFLAGS", renamed("-ffile-prefix-map")).env("CXXFLAGS", renamed("-ffile-prefix-map"));
    // An OpenSSL that is built here would name this folder.
    Ok(cargo.env("OPENSSL_STATIC", "1").env("OPENSSL_NO_VENDOR", "1"))
}

/// With a mark where the files are not the commit's.
fn commit(workspace: &Workspace) -> Result<String> {
    let git = |words: &[&str]| output_of(command("git").args(words).current_dir(&workspace.root));
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Ok(format!("{}{}", commit.trim(), if changed.is_empty() { "" } else { "-changed" }))
}

/// A copy of the files, in a folder of its own below `target`.
fn copied(workspace: &Workspace) -> Result<Workspace> {
    let root = workspace.target.join("again");
    let mut files = command("git");
    files.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let files = output_of(files.current_dir(&workspace.root))?;
    for name in files.split_terminator('\0').filter(|name| workspace.root.join(name).is_file()) {
        let (from, to) = (workspace.root.join(name), root.join(name));
        // What is compiled already stays so.
        if fs::read(&to).ok() != Some(fs::read(&from)?) {
            fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
            fs::copy(&from, &to).with_context(|| format!("cannot copy {name}"))?;
        }
    }
    Ok(Workspace { target: root.join("target"), root })
}

fn pack(place: &Path, name: &str, archive: &Path) -> Result<()> {
    let mut tar = tar(archive);
    tar.args(["--owner=0", "--group=0", "--use-compress-program=gzip -9n"]);
    run_command(tar.arg("--directory").arg(place).arg(name))
}

/// The same bytes for the same files, whoever packs them and when.
const SAME_FOR_ALL: [&str; 4] = ["--sort=name", "--format=ustar", "--mtime=@0", "--numeric-owner"];

fn tar(file: &Path) -> Command {
    let mut tar = command("tar");
    tar.arg("--create").arg("--file").arg(file).args(SAME_FOR_ALL);
    tar
}

fn put(from: &Path, to: &Path, mode: u32) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

/// The files of a folder whose names end so.
fn put_all(from: &Path, ends: &[&str], to: &Path) -> Result<()> {
    for file in fs::read_dir(from)? {
        let file = file?;
        if file.file_type()?.is_dir() {
            put_all(&file.path(), ends, &to.join(file.file_name()))?;
        } else if file.path().extension().is_some_and(|end| ends.iter().any(|known| end == *known)) {
            put(&file.path(), &to.join(file.file_name()), 0o644)?;
        }
    }
    Ok(())
}

fn write(to: &Path, text: &str) -> Result<()> {
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(0o644))?)
}

fn sha256_of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

fn megabytes(path: &Path) -> Result<f64> {
    // Shown to people, in tenths.
    Ok(fs::metadata(path)?.len() as f64 / 1e6)
}
