//! The document as one page: plain HTML, without scripts, with its style inline.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");

/// Lets a browser use the page's own style and nothing else.
pub(super) fn security_policy() -> String {
    let digest = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// The page of this document.
pub(super) fn of(document: &Value) -> String {
    let title = format!("{} {}", text(&document["info"]["title"]), text(&document["info"]["version"]));
    let tags: Vec<&Value> = document["tags"].as_array().into_iter().flatten().collect();
    let links = tags.iter().map(|tag| link(&format!("tag-{}", text(&tag["name"])), text(&tag["name"])));
    let links =
        links.chain([link("events", "What is sent"), link("errors", "Errors"), link("schemas", "Schemas")]);
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\
         <h1>{title}</h1><nav>{}</nav>{}<p>For programs: <a href=\"/openapi.json\">openapi.json</a>.</p>",
        links.collect::<String>(),
        paragraphs(&document["info"]["description"]),
        title = escaped(&title),
    );
    for tag in tags {
        let name = text(&tag["name"]);
        page += &format!("<h2 id=\"tag-{0}\">{0}</h2>{1}", escaped(name), paragraphs(&tag["description"]));
        page += &operations(document, &document["paths"], |operation| operation["tags"][0] == name);
    }
    page += "<h2 id=\"events\">What is sent to webhooks</h2>";
    page += &operations(document, &document["webhooks"], |_| true);
    page += "<h2 id=\"errors\">Errors</h2>";
    page.extend(fields(&document["components"]["examples"]).map(|(code, example)| error(code, example)));
    page += "<h2 id=\"schemas\">Schemas</h2>";
    page.extend(fields(&document["components"]["schemas"]).map(|(name, schema)| named(name, schema)));
    page + "</body></html>"
}

fn operations(document: &Value, paths: &Value, wanted: impl Fn(&Value) -> bool) -> String {
    let all = fields(paths).flat_map(|(path, item)| fields(item).map(move |(method, it)| (path, method, it)));
    let wanted = all.filter(|(_, _, operation)| wanted(operation));
    wanted.map(|(path, method, it)| operation(document, path, method, it)).collect()
}

fn operation(document: &Value, path: &str, method: &str, operation: &Value) -> String {
    let mut html = format!(
        "<section id=\"{id}\"><details><summary><span class=\"method\">{}</span> <code>{}</code> {}</summary>{}{}",
        escaped(&method.to_uppercase()),
        escaped(path),
        words(text(&operation["summary"])),
        paragraphs(&operation["description"]),
        keys(operation),
        id = escaped(text(&operation["operationId"])),
    );
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let rows: String = parameters
        .map(|parameter| {
            row(text(&parameter["name"]), text(&parameter["in"]), parameter, &parameter["schema"])
        })
        .collect();
    if !rows.is_empty() {
        html += &format!("<table><tr><th>Parameter<th>In<th>What it is{rows}</table>");
    }
    for (_, content) in fields(&operation["requestBody"]["content"]) {
        html += &format!("<p>Body: {}</p>", kind(&content["schema"]));
    }
    html += "<table><tr><th>Answer<th>Body<th>When";
    for (status, answer) in fields(&operation["responses"]) {
        let answer = meant(document, answer);
        let bodies = fields(&answer["content"]).map(|(media, content)| {
            format!("{} <span class=\"quiet\">{}</span><br>", kind(&content["schema"]), escaped(media))
        });
        html += &format!(
            "<tr><td>{}<td>{}<td>{}",
            escaped(status),
            bodies.collect::<String>(),
            paragraphs(&answer["description"])
        );
    }
    html + "</table></details></section>"
}

fn keys(operation: &Value) -> String {
    let schemes = operation["security"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|one| fields(one).map(|(name, _)| name));
    let schemes: Vec<&str> = schemes.collect();
    if schemes.is_empty() {
        String::new()
    } else {
        let scopes: Vec<&str> = operation["x-scopes"].as_array().into_iter().flatten().map(text).collect();
        let (schemes, scopes) = (schemes.join(" or "), scopes.join(" or "));
        format!("<p class=\"quiet\">Key: {}; scope: {}</p>", escaped(&schemes), escaped(&scopes))
    }
}

fn error(code: &str, example: &Value) -> String {
    let body = serde_json::to_string_pretty(&example["value"]).unwrap_or_default();
    format!(
        "<section id=\"error-{0}\"><details><summary><code>{0}</code> {1}</summary><pre>{2}</pre></details></section>",
        escaped(code),
        words(text(&example["summary"])),
        escaped(&body)
    )
}

fn named(name: &str, schema: &Value) -> String {
    let rows = rows_of(schema);
    let table = if rows.is_empty() {
        String::new()
    } else {
        format!("<table><tr><th>Field<th><th>What it is{rows}</table>")
    };
    format!(
        "<section id=\"schema-{0}\"><h3>{0}</h3>{1}<p>{2}</p>{table}</section>",
        escaped(name),
        paragraphs(&schema["description"]),
        bounds(schema),
    )
}

/// A row for each field, including those of the schemas that this one is composed of.
fn rows_of(schema: &Value) -> String {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().map(text).collect();
    let own = fields(&schema["properties"]).map(|(name, property)| {
        row(name, if required.contains(&name) { "always" } else { "" }, property, property)
    });
    let own: String = own.collect();
    let parts = schema["allOf"].as_array().into_iter().flatten();
    own + &parts
        .map(|part| if part["$ref"].is_string() { row("", "", part, part) } else { rows_of(part) })
        .collect::<String>()
}

fn row(name: &str, when: &str, described: &Value, schema: &Value) -> String {
    format!(
        "<tr><td><code>{}</code><td class=\"quiet\">{}<td>{} {} {}",
        escaped(name),
        escaped(when),
        kind(schema),
        words(text(&described["description"])),
        bounds(schema)
    )
}

/// The kind of a schema, with a link if it has a name.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return link(&format!("schema-{name}"), name);
    }
    for (many, between) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
        if let Some(parts) = schema[many].as_array() {
            return parts.iter().map(kind).collect::<Vec<_>>().join(between);
        }
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => escaped(name),
        Value::Array(names) => escaped(&names.iter().map(text).collect::<Vec<_>>().join(" or ")),
        _ => String::new(),
    }
}

/// The bounds of a value.
fn bounds(schema: &Value) -> String {
    const SHOWN: [&str; 11] = [
        "enum",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "maxProperties",
        "default",
    ];
    let shown = SHOWN.iter().filter(|name| !schema[**name].is_null());
    let shown = shown.map(|name| format!("{name} <code>{}</code>", escaped(&schema[*name].to_string())));
    format!("<span class=\"quiet\">{}</span>", shown.collect::<Vec<_>>().join(" "))
}

fn meant<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn link(id: &str, name: &str) -> String {
    format!("<a href=\"#{}\">{}</a>", escaped(id), escaped(name))
}

fn paragraphs(value: &Value) -> String {
    text(value)
        .split("\n\n")
        .filter(|part| !part.is_empty())
        .map(|part| format!("<p>{}</p>", words(part)))
        .collect()
}

/// Text, with what stands between backticks set as code.
fn words(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { format!("<code>{}</code>", escaped(part)) } else { escaped(part) })
        .collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_holds_every_operation_code_and_schema_and_loads_nothing() {
        let document = crate::http::document(utoipa::openapi::OpenApi::default());
        let document = serde_json::to_value(&document).expect("JSON");
        let page = of(&document);
        for (_, item) in fields(&document["paths"]) {
            for (_, operation) in fields(item) {
                let id = text(&operation["operationId"]);
                assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
            }
        }
        for (kind, prefix) in [("examples", "error-"), ("schemas", "schema-")] {
            for (name, _) in fields(&document["components"][kind]) {
                assert!(page.contains(&format!("id=\"{prefix}{name}\"")), "{name}");
            }
        }
        for loads in ["<script", "<link", "<img", "src=", "http-equiv", "@import", "url("] {
            assert!(!page.contains(loads), "{loads}");
        }
        let links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().expect("a link"));
        for link in links.filter(|link| *link != "/openapi.json") {
            let id = link.strip_prefix('#').expect("within the page");
            assert!(page.contains(&format!("id=\"{id}\"")), "{link} leads nowhere");
        }
    }

    #[test]
    fn text_stays_text() {
        assert_eq!(words("a `<b>` & \"c\""), "a <code>&lt;b&gt;</code> &amp; &quot;c&quot;");
    }
}
