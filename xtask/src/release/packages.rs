//! `cargo xtask packages`: what carries the programs of an archive elsewhere. For npm and PyPI the SDKs with the programs in them, for
//! desktop hosts of MCP a bundle, with its entry for registries, and an image. Nothing is published.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{PLATFORM, image, megabytes, put, sha256_of, write};
use crate::workspace::{Workspace, command, output_of, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// The archive; without it, the one that `cargo xtask release` made
    archive: Option<PathBuf>,
    /// Folder for the packages; without it, `packages` beside the archive
    #[arg(long)]
    out: Option<PathBuf>,
    /// Whose name the MCP server has in registries, which whoever publishes must own
    #[arg(long, default_value = "com.example/purser")]
    server_name: String,
    /// Where whoever publishes keeps the files of this release
    #[arg(long, default_value = "https://example.com/purser")]
    releases: String,
}

/// What `purser dev` and every other command of it need: `purser-migrate` is for operators, who take the archive.
const PROGRAMS: [(&str, u32); 4] =
    [("purser", 0o755), ("purser-localnet", 0o755), ("purser.so", 0o644), ("purser.json", 0o644)];
const LICENCES: [&str; 2] = ["LICENSE", "LICENSES-THIRD-PARTY.txt"];
/// The programs need no C library, so every Linux can have them. A wheel has to name one.
const WHEEL_PLATFORM: &str = "manylinux_2_17_x86_64";
const NPM_PLATFORM: &str = "linux-x64";

struct Packing<'a> {
    workspace: &'a Workspace,
    args: &'a Args,
    version: String,
    /// The unpacked archive.
    archive: PathBuf,
    /// For what is thrown away.
    stage: PathBuf,
    out: PathBuf,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let archive = match &args.archive {
        Some(archive) => archive.clone(),
        None => newest(&workspace.target.join("archive"))?,
    };
    let file = archive.file_name().and_then(|name| name.to_str()).context("an archive has a name")?;
    let name = file.strip_suffix(".tar.gz").context("an archive ends in .tar.gz")?;
    let version = name.strip_prefix("purser-").and_then(|rest| rest.strip_suffix(PLATFORM));
    let version = version.with_context(|| format!("{file} is no archive of {PLATFORM}"))?;
    let folder = archive.parent().context("a file lies in a folder")?;
    let out = args.out.clone().unwrap_or_else(|| folder.join("packages"));
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let stage = out.join("stage");
    fs::create_dir_all(&stage)?;
    let (out, stage) = (out.canonicalize()?, stage.canonicalize()?);
    let mut tar = command("tar");
    run_command(tar.arg("--extract").arg("--file").arg(&archive).arg("--directory").arg(&stage))?;
    let packing = Packing {
        workspace,
        args,
        version: version.trim_end_matches('-').to_owned(),
        archive: stage.join(name),
        stage,
        out,
    };
    packing.npm()?;
    packing.pypi()?;
    packing.bundle()?;
    image::write_to(&packing.archive, &packing.version, &packing.stage, &packing.out)?;
    fs::remove_dir_all(&packing.stage)?;
    let mut made: Vec<PathBuf> =
        fs::read_dir(&packing.out)?.map(|it| Ok(it?.path())).collect::<Result<_>>()?;
    made.sort();
    for file in made {
        eprintln!("{}: {:.1} MB", file.display(), megabytes(&file)?);
    }
    Ok(())
}

fn newest(folder: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(folder).context("there is no archive: `cargo xtask release` makes one")?;
    let archives = files
        .filter_map(|it| Some(it.ok()?.path()))
        .filter(|it| it.extension().is_some_and(|end| end == "gz"));
    let newest = archives.max_by_key(|it| fs::metadata(it).and_then(|it| it.modified()).ok());
    newest.context("there is no archive: `cargo xtask release` makes one")
}

impl Packing<'_> {
    /// As esbuild does: the package that people name, and one for each platform, of which npm installs the one that fits.
    fn npm(&self) -> Result<()> {
        let sdk = self.copy_of("sdk/typescript")?;
        let platform = format!("@purser-pay/{NPM_PLATFORM}");
        // npm's own command keeps the order of conditions, which counts. Who installs from a checkout has no package of this name, and
        // nobody may slip one in.
        let mut set = command("npm");
        set.args(["pkg", "set"]).arg(format!("optionalDependencies[{platform}]={}", self.version));
        output_of(set.arg(format!("mcpName={}", self.args.server_name)).current_dir(&sdk))?;
        output_of(command("npm").args(["pkg", "delete", "private", "scripts"]).current_dir(&sdk))?;
        if let Some(modules) = env::var_os("PURSER_NODE_MODULES") {
            std::os::unix::fs::symlink(modules, sdk.join("node_modules"))?;
        } else {
            let mut install = command("npm");
            install.args(["install", "--silent", "--no-audit", "--no-fund", "--omit=optional"]);
            run_command(install.current_dir(&sdk))?;
        }
        run_command(command(sdk.join("node_modules/.bin/tsc")).current_dir(&sdk))?;
        self.npm_pack(&sdk)?;

        let carrier = self.stage.join(NPM_PLATFORM);
        self.puts_programs(&carrier.join("programs"))?;
        let manifest = json!({
            "name": platform, "version": self.version, "license": "Apache-2.0", "os": ["linux"], "cpu": ["x64"],
            "description": "The programs of purser-pay for Linux on x86-64", "preferUnplugged": true,
        });
        write(&carrier.join("package.json"), &serde_json::to_string_pretty(&manifest)?)?;
        self.npm_pack(&carrier)
    }

    fn npm_pack(&self, folder: &Path) -> Result<()> {
        let mut npm = command("npm");
        npm.args(["pack", "--silent", "--ignore-scripts", "--pack-destination"]).arg(&self.out);
        output_of(npm.current_dir(folder)).map(drop)
    }

    /// As ruff does: a wheel for each platform with the programs in it, and one for all others, with the SDK alone.
    fn pypi(&self) -> Result<()> {
        let sdk = self.copy_of("sdk/python")?;
        self.wheel(&sdk, &[])?;
        self.puts_programs(&sdk.join("purser_pay/programs"))?;
        self.wheel(&sdk, &[format!("--config-settings=--build-option=--plat-name={WHEEL_PLATFORM}")])
    }

    fn wheel(&self, sdk: &Path, options: &[String]) -> Result<()> {
        let python = env::var_os("PURSER_PYTHON").unwrap_or_else(|| OsString::from("python3"));
        let mut pip = command(python);
        pip.args([
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--wheel-dir",
        ]);
        // The first moment that a zip file can name.
        pip.arg(&self.out).args(options).arg(sdk).env("SOURCE_DATE_EPOCH", "315532800");
        run_command(&mut pip)?;
        // What the other wheel is not made of.
        for built in ["build", "purser_pay.egg-info"] {
            let folder = sdk.join(built);
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        Ok(())
    }

    /// A file that desktop hosts install with one click, and what registries of MCP servers say of it.
    fn bundle(&self) -> Result<()> {
        let bundle = self.stage.join("bundle");
        fs::create_dir_all(bundle.join("server"))?;
        let deploy = self.workspace.root.join("deploy/mcpb");
        put(&deploy.join("manifest.json"), &bundle.join("manifest.json"), 0o644)?;
        put(&self.archive.join("purser"), &bundle.join("server/purser"), 0o755)?;
        let name = format!("purser-{}-{PLATFORM}.mcpb", self.version);
        let packed = self.out.join(&name);
        let mut mcpb = match env::var_os("PURSER_NODE_MODULES") {
            Some(modules) => command(Path::new(&modules).join(".bin/mcpb")),
            None => {
                let mut npx = command("npx");
                npx.args(["--yes", "@anthropic-ai/mcpb@2"]);
                npx
            }
        };
        output_of(mcpb.arg("pack").arg(&bundle).arg(&packed))?;

        let mut server: Value = serde_json::from_str(&fs::read_to_string(deploy.join("server.json"))?)?;
        server["name"] = self.args.server_name.as_str().into();
        server["version"] = self.version.as_str().into();
        let package = server.pointer_mut("/packages/0").context("server.json has a package")?;
        package["identifier"] = format!("{}/{name}", self.args.releases.trim_end_matches('/')).into();
        package["fileSha256"] = sha256_of(&packed)?.into();
        write(&self.out.join("server.json"), &(serde_json::to_string_pretty(&server)? + "\n"))
    }

    fn puts_programs(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for (name, mode) in PROGRAMS {
            put(&self.archive.join(name), &folder.join(name), mode)?;
        }
        for name in LICENCES {
            put(&self.archive.join(name), &folder.join(name), 0o644)?;
        }
        Ok(())
    }

    /// The files of a folder that belong to the repository.
    fn copy_of(&self, folder: &str) -> Result<PathBuf> {
        let mut files = command("git");
        files.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", folder]);
        let files = output_of(files.current_dir(&self.workspace.root))?;
        if files.is_empty() {
            bail!("git knows no file in {folder}");
        }
        let is_there = |name: &&str| self.workspace.root.join(name).is_file();
        for name in files.split_terminator('\0').filter(is_there) {
            let to = self.stage.join(name);
            fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
            fs::copy(self.workspace.root.join(name), &to).with_context(|| format!("cannot copy {name}"))?;
        }
        Ok(self.stage.join(folder))
    }
}
