use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_api::web::{ApiError, OnRecord, RequestRandom, shown_once};
use purser_model::{EventType, Invalid, PageRequest, UpdateWebhook, Webhook, WebhookId};
use purser_service::{NewSecret, Services};

use crate::form::Form;
use crate::page::{Complaint, Frame, PageError, Section, page};
use crate::session::Signed;
use crate::text::filters;

/// The most webhooks that an operator may have.
const LIMIT: u32 = 100;
const THRESHOLD: &str = "low_balance_threshold_usdc";

#[derive(Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage {
    frame: Frame,
    webhooks: Vec<Webhook>,
    undelivered: Vec<WebhookId>,
    /// The event types that can be subscribed to, by what they are about.
    events: Vec<(&'static str, Vec<EventType>)>,
    form: Form,
    complaint: Option<Complaint>,
}

fn events() -> Vec<(&'static str, Vec<EventType>)> {
    let mut groups: Vec<(&str, Vec<EventType>)> = Vec::new();
    for event in EventType::SUBSCRIBABLE {
        let name = group(&event);
        match groups.iter_mut().find(|(group, _)| *group == name) {
            Some((_, events)) => events.push(event),
            None => groups.push((name, vec![event])),
        }
    }
    groups
}

/// The group in which the form lists an event, by the first word of its name.
fn group(event: &EventType) -> &'static str {
    match event.as_str().split('.').next() {
        Some("transfer") => "Payments",
        Some("balance" | "deposit" | "withdrawal") => "Balances",
        Some("policy" | "limit" | "account") => "Policies and halts",
        Some("approval") => "Approvals",
        Some(_) | None => "Audit log",
    }
}

/// The sentence of the OpenAPI document about an event.
fn about(event: &EventType) -> String {
    event.fires_when().replace('`', "")
}

impl WebhooksPage {
    fn is_chosen(&self, event: &EventType) -> bool {
        self.form.all("events").any(|chosen| chosen == event.as_str())
    }
}

pub async fn show(State(services): State<Arc<Services>>, signed: Signed) -> Result<Response, PageError> {
    answer(&services, &signed, Form::default(), None).await
}

async fn answer(
    services: &Services,
    signed: &Signed,
    form: Form,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let shown = WebhooksPage {
        frame: signed.frame(Section::Webhooks),
        webhooks: services.webhooks.list(&signed.operator, PageRequest::first(LIMIT)).await?.items,
        undelivered: services.webhooks.undelivered(&signed.operator).await?,
        events: events(),
        form,
        complaint,
    };
    Ok(page(&shown, shown.complaint.as_ref()))
}

/// A secret, shown once.
#[derive(Template)]
#[template(path = "webhook_secret.html")]
pub struct SecretPage {
    pub frame: Frame,
    pub new: NewSecret,
    pub is_rotated: bool,
}

pub async fn create(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    RequestRandom(drawn): RequestRandom,
    form: Form,
) -> Result<Response, PageError> {
    let created = match asked(&form) {
        Ok(asked) => {
            services.webhooks.create(&signed.operator, asked, drawn, &scope).await.map_err(ApiError::from)
        }
        Err(invalid) => Err(invalid.into()),
    };
    match created {
        Ok(new) => {
            let frame = signed.frame(Section::Webhooks);
            Ok(shown_once(page(&SecretPage { frame, new, is_rotated: false }, None)))
        }
        Err(error) => answer(&services, &signed, form, Some(Complaint::of(error)?)).await,
    }
}

fn asked(form: &Form) -> Result<UpdateWebhook, Invalid> {
    let event = |(at, text): (usize, &str)| Invalid::unless(&format!("events[{at}]"), text);
    let account = |(at, text): (usize, &str)| Invalid::unless(&format!("account_ids[{at}]"), text);
    let account_ids = form.text("account_ids").split_whitespace().enumerate().map(account);
    Ok(UpdateWebhook {
        url: form.given("url").map(str::to_owned),
        events: Some(form.all("events").enumerate().map(event).collect::<Result<_, _>>()?),
        account_ids: Some(account_ids.collect::<Result<_, _>>()?),
        threshold: Some(form.given(THRESHOLD).map(|text| Invalid::unless(THRESHOLD, text)).transpose()?),
        status: None,
    })
}
