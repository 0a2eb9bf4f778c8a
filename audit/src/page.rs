//! The audit as one page for a browser, which needs no server: script, style and WebAssembly are in it.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser_replay::AuditError;
use sha2::{Digest, Sha256};

/// The committed build of `page/`: see `cargo xtask page`.
const MODULE: &[u8] = include_bytes!("../page/built/purser_page.wasm");
const PAGE: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/page.css");
const SCRIPT: &str = include_str!("../page/page.js");
const WORKER: &str = include_str!("../page/worker.js");

/// Writes the page into a directory, which is made if it is missing, and returns its path.
pub fn write_page(folder: &Path) -> Result<PathBuf, AuditError> {
    let path = folder.join("index.html");
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, page()));
    written.map(|()| path.clone()).map_err(|cause| AuditError::File { path, cause })
}

/// The same bytes in every build of the same source.
fn page() -> String {
    // The browser runs a script with this hash alone.
    let hash = format!("sha256-{}", STANDARD.encode(Sha256::digest(SCRIPT)));
    let parts = [
        ("{{script-hash}}", hash.as_str()),
        ("{{style}}", STYLE),
        ("{{worker}}", WORKER),
        ("{{script}}", SCRIPT),
        // Last: nothing is looked for in it.
        ("{{module}}", &STANDARD.encode(MODULE)),
    ];
    parts.iter().fold(PAGE.to_owned(), |page, (place, part)| page.replacen(place, part, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_holds_all_its_parts_and_no_place_is_left() {
        let page = page();
        assert!(!page.contains("{{"), "a place is left");
        for part in [STYLE, SCRIPT, WORKER, &STANDARD.encode(MODULE)] {
            assert_eq!(page.matches(part).count(), 1);
        }
        // Otherwise a part would end its element early.
        assert!(![SCRIPT, WORKER, STYLE].iter().any(|part| part.contains("</")));
    }
}
