//! Which form of answer the client wants.

use axum::http::{HeaderMap, header};

use super::FileFormat;

/// Whether a client prefers `media_type` to JSON and asks for it by name.
pub fn is_wanted(headers: &HeaderMap, media_type: &str) -> bool {
    let ranges = || {
        let texts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        texts.flat_map(|text| text.split(','))
    };
    let weight = |name: &str| ranges().filter_map(|range| weight_of(range, name)).max().unwrap_or(0);
    weight(media_type) > weight("application/json")
}

/// The file that a client prefers to JSON.
pub(crate) fn wanted_file(headers: &HeaderMap) -> Option<FileFormat> {
    FileFormat::ALL.into_iter().find(|format| is_wanted(headers, format.media_type()))
}

/// The weight that a media range gives `name`, in thousandths.
fn weight_of(range: &str, name: &str) -> Option<u32> {
    let mut parts = range.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case(name) {
        return None;
    }
    let mut weights = parts.filter_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    Some(weights.next_back().map_or(1_000, thousandths))
}

/// Reads `1`, `0.5` or `0.125`; anything else is 0.
fn thousandths(text: &str) -> u32 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_weight = matches!(whole, "0" | "1") && fraction.len() <= 3;
    let digits = format!("{whole}{fraction:0<3}");
    if is_weight { digits.parse().map_or(0, |weight: u32| weight.min(1_000)) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn wanted(accept: &[&'static str]) -> bool {
        let values = accept.iter().map(|value| (header::ACCEPT, HeaderValue::from_static(value)));
        is_wanted(&HeaderMap::from_iter(values), "text/csv")
    }

    #[test]
    fn other_formats_are_for_clients_that_name_and_prefer_them() {
        for accept in [
            &["text/csv"][..],
            &["TEXT/CSV; charset=utf-8"],
            &["text/csv, */*;q=0.1"],
            &["application/json;q=0.5", "text/csv;q=0.501"],
        ] {
            assert!(wanted(accept), "{accept:?}");
        }
        for accept in [
            &[][..],
            &["*/*"],
            &["text/*"],
            &["application/json, text/csv"],
            &["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
            &["text/csv;q=0"],
            &["text/csv;q=x"],
            &["text/csv;q=2"],
            &["text/csvx"],
        ] {
            assert!(!wanted(accept), "{accept:?}");
        }
    }
}
