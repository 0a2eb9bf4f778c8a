//! The list of accounts, searched, sorted and in pages, and creating one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_api::web::{ApiError, OnRecord, RequestRandom};
use purser_model::{AccountFilter, AccountId, AccountStatus, CreateAccount, Label, Operator, PageRequest};
use purser_service::{AccountView, ServiceError, Services, accounts};

use super::form::Form;
use super::page::{Complaint, Frame, PageError, QueryParams, Section, page, see};
use super::policy::first_policy;
use super::session::Signed;
use super::spending::{by_account, refused_today};
use super::text::{filters, finds};

/// How many accounts are searched and sorted together: all that an operator may have, unless its quota was raised.
pub const TOGETHER: u32 = 1_000;
/// How many of them a page shows.
const LIMIT: usize = 50;
const PATH: &str = "/dashboard/accounts";

/// By what accounts are sorted: its word, and what a page says.
const ORDERS: [(&str, &str); 6] = [
    ("", "newest first"),
    ("name", "name"),
    ("balance", "most money"),
    ("low", "least money"),
    ("spent", "most spent in 24 h"),
    ("refused", "most refused today"),
];

#[derive(Template)]
#[template(path = "accounts.html")]
struct AccountsPage {
    frame: Frame,
    accounts: Vec<AccountView>,
    /// How many transfers of each were refused today.
    refused: HashMap<AccountId, u64>,
    status: Option<AccountStatus>,
    asked: QueryParams,
    /// How many the search found.
    found: usize,
    pages: Vec<PageLink>,
    /// Accounts beyond those that were searched.
    next: Option<String>,
}

/// A page of what was found.
struct PageLink {
    number: usize,
    is_this: bool,
    /// With the same search and order.
    address: String,
}

impl AccountsPage {
    fn aria_current(&self, status: &str) -> &'static str {
        if self.status.map_or("", AccountStatus::as_str) == status { "true" } else { "false" }
    }

    /// The page that changes what was found.
    fn to_change(&self) -> String {
        self.asked.same("/dashboard/accounts/change", &["search", "status"])
    }

    /// The same search and order among accounts of another state.
    fn of_status(&self, status: &str) -> String {
        self.asked.with(PATH, &["search", "sort"], ("status", status))
    }
}

/// Returns whether a search finds the account by its name, a tag, its id or one of its addresses.
fn holds(view: &AccountView, wanted: &str) -> bool {
    let account = &view.account;
    let tags = account.tags.iter().map(ToString::to_string);
    let texts = tags.chain([account.name.as_str().to_owned()]);
    let ids = [account.id.to_string(), account.address.to_string(), account.token_account.to_string()];
    finds(wanted, texts, ids.into_iter())
}

/// The accounts of the filter that a search finds.
pub async fn search(
    services: &Services,
    operator: &Operator,
    filter: AccountFilter,
    wanted: &str,
) -> Result<Vec<AccountId>, ServiceError> {
    let listed = accounts::list(&services.inside, operator, filter, PageRequest::first(TOGETHER)).await?;
    Ok(listed.items.iter().filter(|view| holds(view, wanted)).map(|view| view.account.id).collect())
}

/// Sorts by the word of [`ORDERS`]; where it is none of them, the newest stay first.
fn sort(accounts: &mut [AccountView], refused: &HashMap<AccountId, u64>, by: &str) {
    match by {
        "name" => accounts.sort_by_key(|view| view.account.name.as_str().to_lowercase()),
        "balance" => accounts.sort_by_key(|view| Reverse(view.balance)),
        "low" => accounts.sort_by_key(|view| view.balance),
        "refused" => accounts.sort_by_key(|view| Reverse(refused.get(&view.account.id))),
        "spent" => accounts.sort_by_key(|view| Reverse(view.spent)),
        _ => {}
    }
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let operator = &signed.operator;
    let status = asked.read("status")?;
    let request = asked.page(TOGETHER);
    let listed = accounts::list(&services.inside, operator, status, request).await?;
    let mut accounts = listed.items;
    if let Some(wanted) = asked.given("search") {
        accounts.retain(|view| holds(view, wanted));
    }
    let refused = by_account(&refused_today(&services, operator).await?);
    sort(&mut accounts, &refused, asked.text("sort"));
    let found = accounts.len();
    let last = found.div_ceil(LIMIT).max(1);
    let this = asked.given("page").and_then(|text| text.parse().ok()).unwrap_or(1).clamp(1, last);
    let kept = ["search", "sort", "status", "cursor"];
    let link = |number: usize| PageLink {
        number,
        is_this: number == this,
        address: asked.with(PATH, &kept, ("page", &number.to_string())),
    };
    let shown = AccountsPage {
        frame: signed.frame(Section::Accounts),
        next: asked.next(PATH, listed.next.as_ref()),
        accounts: accounts.into_iter().skip((this - 1) * LIMIT).take(LIMIT).collect(),
        refused,
        status,
        found,
        pages: (1..=last).map(link).collect(),
        asked,
    };
    Ok(page(&shown, None))
}

#[derive(Template)]
#[template(path = "export.html")]
struct ExportPage {
    frame: Frame,
}

/// Asks for the period of a file of all histories.
pub async fn ask_to_export(signed: Signed) -> Response {
    page(&ExportPage { frame: signed.frame(Section::Accounts) }, None)
}

#[derive(Template)]
#[template(path = "new_account.html")]
struct NewAccountPage {
    frame: Frame,
    form: Form,
    complaint: Option<Complaint>,
}

impl NewAccountPage {
    /// Whether "none" has to be typed for no limit.
    fn needs_limits(&self) -> bool {
        true
    }
}

pub async fn ask_to_create(signed: Signed) -> Response {
    let frame = signed.frame(Section::Accounts);
    page(&NewAccountPage { frame, form: Form::default(), complaint: None }, None)
}

pub async fn create(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    RequestRandom(drawn): RequestRandom,
    form: Form,
) -> Result<Response, PageError> {
    let name = Label::parse(form.text("name"));
    let created = match name.and_then(|name| Ok((name, first_policy(&form)?))) {
        Ok((name, policy)) => {
            let new = CreateAccount { name, metadata: None, tags: None, policy };
            accounts::create(&services.inside, signed.operator.clone(), new, drawn, &scope)
                .await
                .map_err(ApiError::from)
        }
        Err(invalid) => Err(invalid.into()),
    };
    match created {
        Ok(view) => Ok(see(&format!("/dashboard/accounts/{}?made=1", view.account.id))),
        Err(error) => {
            let (frame, complaint) = (signed.frame(Section::Accounts), Some(Complaint::of(error)?));
            let shown = NewAccountPage { frame, form, complaint };
            Ok(page(&shown, shown.complaint.as_ref()))
        }
    }
}
