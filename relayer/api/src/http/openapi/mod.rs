//! The interface as an OpenAPI document, built from what each handler, body and answer says about itself. What many routes
//! share is added here: who may call, the errors that follow from a route's shape, the headers, the events.

mod errors;
pub(crate) mod events;
pub(crate) mod headers;
mod links;
mod open;
#[cfg(test)]
mod tests;

use purser_model::wire::schema::forbid_null;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::ArrayItems;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    Components, InfoBuilder, LicenseBuilder, OpenApi, RefOr, Schema, SecurityRequirement, ServerBuilder,
};

const DESCRIPTION: &str = "\
USDC accounts for AI agents on Solana, spending only within rules that the chain enforces.

Every call but those tagged Service carries `Authorization: Bearer <API_KEY>`. The key says which operator or agent asks, and on \
which network; its scopes say what it may do: a route needs one of its `x-scopes`, and `admin` stands for all of them. Bodies are JSON; unknown fields and parameters are refused. Amounts are decimal strings of USDC with six \
fractional digits; JSON numbers are taken and given exactly where a schema says `number`. Times are ISO 8601 in UTC.

Every answer has `X-Request-Id`. Every error has the schema `ErrorBody`; decide by its `error`. What is not HTTP \
has a bare 400 or 431 for an answer, a path that is not described here 404 `not_found`, and another method 405 \
`method_not_allowed`. A 402 is a refusal of the account's policy or balance, never an offer to pay.

A list has pages: give `cursor` of the page before until `has_more` is false.";

const TAGS: [(&str, &str); 13] = [
    ("Accounts", "Agent accounts: a PDA with a USDC token account and a spending policy."),
    ("Policies", "What an account may spend, enforced on the chain. Operators alone see and set it."),
    (
        "Budgets",
        "What several accounts may spend together, enforced on the chain. The operator's admin makes them.",
    ),
    ("Transfers", "Payments, each made exactly once per idempotency key."),
    (
        "Approvals",
        "Transfers that policy refused and about which a person is asked. A grant of an approver pays them, on the chain.",
    ),
    ("History", "What happened to an account's money."),
    ("Keys", "Keys of the operator, and of agents, each for one account."),
    ("Halts", "A stop that is separate from the policy and that only the operator's admin lifts."),
    ("Actions", "Who changed what through the service, and from where."),
    ("Events", "What happened, as it is announced."),
    ("Webhooks", "Where announcements are delivered."),
    ("Agents", "The same API over MCP."),
    ("Service", "Routes that need no key."),
];

/// The whole document of these routes.
pub(super) fn finish(mut document: OpenApi) -> OpenApi {
    document.info = InfoBuilder::new()
        .title("Purser")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build()))
        .build();
    document.servers = Some(vec![ServerBuilder::new().url("/").description(Some("This service.")).build()]);
    let tag = |(name, description): (&str, &str)| {
        TagBuilder::new().name(name).description(Some(description)).build()
    };
    document.tags = Some(TAGS.map(tag).to_vec());
    let components = document.components.get_or_insert_with(Components::new);
    let bearer = |description: &str| {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(description));
        SecurityScheme::Http(scheme.build())
    };
    components.add_security_scheme("operator_key", bearer("A key of an operator: `psr_op_...`."));
    components.add_security_scheme("agent_key", bearer("A key of one agent account: `psr_ag_...`."));
    headers::describe(components);
    errors::describe(components);
    for item in document.paths.paths.values_mut() {
        for operation in operations(item) {
            errors::add(operation, components);
            headers::add(operation);
            links::add(operation);
            forbid_null_body(operation);
        }
    }
    document.webhooks = Some(events::webhooks(components));
    name_items(components);
    open::open_answers(&mut document);
    document
}

/// What is listed has the name that it has by itself, so generated clients have one type for both.
fn name_items(components: &mut Components) {
    let names: Vec<String> = components.schemas.keys().cloned().collect();
    for (name, page) in &mut components.schemas {
        let item = name.strip_prefix("Page_").filter(|item| names.iter().any(|name| name == item));
        if let (Some(item), RefOr::T(Schema::Object(page))) = (item, page)
            && let Some(RefOr::T(Schema::Array(data))) = page.properties.get_mut("data")
        {
            data.items = ArrayItems::RefOrSchema(Box::new(component("schemas", item)));
        }
    }
}

/// The operations of a path.
fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

/// An optional body may be left out, but it may not be `null`.
fn forbid_null_body(operation: &mut Operation) {
    let Some(RefOr::T(body)) = &mut operation.request_body else { return };
    for content in body.content.values_mut() {
        if let RefOr::T(content) = content {
            content.schema.iter_mut().for_each(forbid_null);
        }
    }
}

/// Whether the operation needs a key.
fn needs_key(operation: &Operation) -> bool {
    operation.security.iter().flatten().any(|requirement| *requirement != SecurityRequirement::default())
}

/// A reference to a component.
fn component<T>(kind: &str, name: &str) -> RefOr<T> {
    RefOr::Ref(utoipa::openapi::Ref::new(format!("#/components/{kind}/{name}")))
}
