//! The list of components as CycloneDX: https://cyclonedx.org/docs/1.5/json/. It has no time and no random number, so that the same
//! sources give the same bytes.

use anyhow::Result;
use serde_json::{Value, json};

use super::components::{Component, Components};

pub fn of(components: &Components) -> Result<String> {
    let listed = components.packages.iter().map(|(name, component)| described(name, component));
    let dependencies = components.packages.iter().map(|(name, component)| {
        json!({ "ref": url(name), "dependsOn": component.uses.iter().map(url).collect::<Vec<_>>() })
    });
    let bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application", "bom-ref": "purser", "name": "purser", "version": components.version,
            "licenses": [{ "expression": "Apache-2.0" }],
        } },
        "components": listed.collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&bom)? + "\n")
}

fn described(name: &(String, String), component: &Component) -> Value {
    let mut described = json!({
        "type": "library", "bom-ref": url(name), "name": name.0, "version": name.1, "purl": url(name),
    });
    if let Some(licence) = &component.licence {
        described["licenses"] = json!([{ "expression": licence }]);
    }
    if let Some(checksum) = &component.checksum {
        described["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    described
}

/// https://github.com/package-url/purl-spec
fn url((name, version): &(String, String)) -> String {
    format!("pkg:cargo/{name}@{version}")
}
