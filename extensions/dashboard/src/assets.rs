//! Style, script and icon. Each name contains a hash of the content, so that a browser may cache it for good.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use purser_api::web::ApiError;
use sha2::{Digest, Sha256};

use super::page::PageError;

struct Asset {
    path: String,
    content_type: &'static str,
    text: &'static str,
}

impl Asset {
    fn new(stem: &str, extension: &str, content_type: &'static str, text: &'static str) -> Self {
        let hash = hex::encode(&Sha256::digest(text.as_bytes())[..6]);
        Self { path: format!("/dashboard/assets/{stem}-{hash}.{extension}"), content_type, text }
    }
}

static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("style", "css", "text/css; charset=utf-8", include_str!("assets/style.css")));
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("script", "js", "text/javascript; charset=utf-8", include_str!("assets/script.js"))
});
static PASSKEYS: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("passkeys", "js", "text/javascript; charset=utf-8", include_str!("assets/passkeys.js"))
});
static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("assets/icon.svg")));

pub fn style() -> &'static str {
    &STYLE.path
}

pub fn script() -> &'static str {
    &SCRIPT.path
}

pub fn passkeys_script() -> &'static str {
    &PASSKEYS.path
}

pub fn icon() -> &'static str {
    &ICON.path
}

pub async fn serve(Path(name): Path<String>) -> Result<Response, PageError> {
    let all = [&*STYLE, &*SCRIPT, &*PASSKEYS, &*ICON];
    let asked = all.into_iter().find(|asset| asset.path.ends_with(&format!("/{name}")));
    let asset = asked.ok_or(ApiError::RouteNotFound)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    Ok((headers, asset.text).into_response())
}
