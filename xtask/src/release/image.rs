//! The image: the program, and folders for its configuration and state, in one layer on nothing. As files of an OCI layout, which
//! `docker load`, `podman load` and `skopeo` take: https://github.com/opencontainers/image-spec/blob/main/image-layout.md

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{SAME_FOR_ALL, put, tar, write};
use crate::workspace::{command, run as run_command};

/// Nobody's, as in other images without a root: key files that others can read are refused.
const USER: &str = "65532";
const NANOSECONDS: u64 = 1_000_000_000;
const NO_TIME: &str = "1970-01-01T00:00:00Z";

/// Writes the image of the programs in `archive` to `out`, by way of files in `stage`.
pub fn write_to(archive: &Path, version: &str, stage: &Path, out: &Path) -> Result<()> {
    let layout = stage.join("layout");
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    // It stays unpacked, so its digest is that of what it holds; what sends it to a registry packs it.
    let layer = layer(archive, stage)?;
    let layer = Blob::put(&blobs, &fs::read(layer)?, "application/vnd.oci.image.layer.v1.tar")?;
    let config = config(version, &layer.digest).to_string();
    let config = Blob::put(&blobs, config.as_bytes(), "application/vnd.oci.image.config.v1+json")?;
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor(), "layers": [layer.descriptor()],
    });
    let manifest =
        Blob::put(&blobs, manifest.to_string().as_bytes(), "application/vnd.oci.image.manifest.v1+json")?;
    let mut named = manifest.descriptor();
    named["annotations"] = json!({
        "org.opencontainers.image.ref.name": version, "io.containerd.image.name": "docker.io/library/purser:latest",
    });
    named["platform"] = json!({ "architecture": "amd64", "os": "linux" });
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [named],
    });
    write(&layout.join("index.json"), &index.to_string())?;
    write(&layout.join("oci-layout"), &json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    // What Docker read before it knew the layout.
    let of_docker = json!([{
        "Config": config.path(), "Layers": [layer.path()], "RepoTags": ["purser:latest", format!("purser:{version}")],
    }]);
    write(&layout.join("manifest.json"), &of_docker.to_string())?;
    let mut tar = tar(&out.join(format!("purser-{version}-image.tar.gz")));
    tar.args(["--use-compress-program=gzip -9n", "--owner=0", "--group=0", "--directory"]).arg(&layout);
    run_command(tar.args(["blobs", "index.json", "manifest.json", "oci-layout"]))
}

/// What `docker inspect` shows. `Healthcheck` is Docker's own.
fn config(version: &str, layer: &str) -> Value {
    json!({
        "created": NO_TIME, "architecture": "amd64", "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PURSER_LOG_FORMAT=json", "PURSER__SERVER__LISTEN=0.0.0.0:8080"],
            "Entrypoint": ["/usr/local/bin/purser"], "Cmd": ["serve"], "WorkingDir": "/var/lib/purser",
            "ExposedPorts": { "8080/tcp": {} }, "Volumes": { "/var/lib/purser": {} }, "StopSignal": "SIGTERM",
            "Healthcheck": {
                "Test": ["CMD", "/usr/local/bin/purser", "health"],
                "Interval": 10 * NANOSECONDS, "Timeout": 5 * NANOSECONDS, "StartPeriod": 30 * NANOSECONDS, "Retries": 3,
            },
            "Labels": { "org.opencontainers.image.title": "purser", "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "Apache-2.0" },
        },
        "rootfs": { "type": "layers", "diff_ids": [layer] },
        "history": [{ "created": NO_TIME, "created_by": "cargo xtask packages" }],
    })
}

fn layer(archive: &Path, stage: &Path) -> Result<std::path::PathBuf> {
    let (root, layer) = (stage.join("rootfs"), stage.join("layer.tar"));
    for folder in ["usr/local/bin", "usr/share/doc/purser", "etc/purser", "var/lib/purser"] {
        fs::create_dir_all(root.join(folder))?;
    }
    put(&archive.join("purser"), &root.join("usr/local/bin/purser"), 0o755)?;
    for name in ["LICENSE", "LICENSES-THIRD-PARTY.txt", "sbom.cdx.json"] {
        put(&archive.join(name), &root.join("usr/share/doc/purser").join(name), 0o644)?;
    }
    write(&root.join("etc/passwd"), &format!("purser:x:{USER}:{USER}::/var/lib/purser:/\n"))?;
    write(&root.join("etc/group"), &format!("purser:x:{USER}:\n"))?;
    let mut all = tar(&layer);
    all.args(["--owner=0", "--group=0", "--mode=go-w", "--exclude=var/lib/purser", "--directory"]).arg(&root);
    run_command(all.args(["etc", "usr", "var"]))?;
    let mut state = command("tar");
    state.arg("--append").arg("--file").arg(&layer).args(SAME_FOR_ALL);
    state.arg(format!("--owner={USER}")).arg(format!("--group={USER}"));
    run_command(state.args(["--mode=0700", "--directory"]).arg(&root).arg("var/lib/purser"))?;
    Ok(layer)
}

struct Blob {
    media_type: &'static str,
    /// `sha256:` and lower-case hex.
    digest: String,
    size: usize,
}

impl Blob {
    fn put(folder: &Path, bytes: &[u8], media_type: &'static str) -> Result<Self> {
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(folder.join(&hash), bytes).context("cannot write a part of the image")?;
        Ok(Self { media_type, digest: format!("sha256:{hash}"), size: bytes.len() })
    }

    fn path(&self) -> String {
        format!("blobs/{}", self.digest.replace(':', "/"))
    }

    fn descriptor(&self) -> Value {
        json!({ "mediaType": self.media_type, "digest": self.digest, "size": self.size })
    }
}
