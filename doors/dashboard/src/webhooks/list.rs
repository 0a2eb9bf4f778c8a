use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value};

use crate::dashboard::form::{Form, body};
use crate::dashboard::home::first_page;
use crate::dashboard::page::{Complaint, Frame, PageError, Section, page};
use crate::dashboard::session::Signed;
use crate::dashboard::text::filters;
use crate::domain::{EventType, Invalid, Webhook, WebhookId};
use crate::http::error::ApiError;
use crate::http::once::{Draw, shown_once};
use crate::http::v1::webhooks::WebhookBody;
use crate::service::{NewSecret, Services};

/// The most webhooks that an operator may have.
const LIMIT: u32 = 100;

#[derive(Template)]
#[template(path = "dashboard/webhooks.html")]
struct WebhooksPage {
    frame: Frame,
    webhooks: Vec<Webhook>,
    undelivered: Vec<WebhookId>,
    events: [EventType; EventType::SUBSCRIBABLE.len()],
    form: Form,
    complaint: Option<Complaint>,
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
        frame: Frame::new(&signed.operator, Section::Webhooks),
        webhooks: services.webhooks.list(&signed.operator, first_page(LIMIT)?).await?.items,
        undelivered: services.webhooks.undelivered(&signed.operator).await?,
        events: EventType::SUBSCRIBABLE,
        form,
        complaint,
    };
    Ok(page(&shown, shown.complaint.as_ref()))
}

/// A secret, shown once.
#[derive(Template)]
#[template(path = "dashboard/webhook_secret.html")]
pub struct SecretPage {
    pub frame: Frame,
    pub new: NewSecret,
    pub is_rotated: bool,
}

pub async fn create(
    State(services): State<Arc<Services>>,
    signed: Signed,
    Draw(drawn): Draw,
    form: Form,
) -> Result<Response, PageError> {
    let created = match asked(&form) {
        Ok(asked) => match asked.try_into() {
            Ok(asked) => {
                services.webhooks.create(&signed.operator, asked, drawn).await.map_err(ApiError::from)
            }
            Err(invalid) => Err(ApiError::from(invalid)),
        },
        Err(invalid) => Err(invalid.into()),
    };
    match created {
        Ok(new) => {
            let frame = Frame::new(&signed.operator, Section::Webhooks);
            Ok(shown_once(page(&SecretPage { frame, new, is_rotated: false }, None)))
        }
        Err(error) => answer(&services, &signed, form, Some(Complaint::of(error)?)).await,
    }
}

fn asked(form: &Form) -> Result<WebhookBody, Invalid> {
    let mut fields = Map::new();
    let texts = |texts: Vec<&str>| Value::from(texts);
    fields.extend(form.given("url").map(|url| ("url".to_owned(), url.into())));
    fields.insert("events".to_owned(), texts(form.all("events").collect()));
    fields.insert("account_ids".to_owned(), texts(form.text("account_ids").split_whitespace().collect()));
    let threshold = form.given("low_balance_threshold_usdc");
    fields.extend(threshold.map(|amount| ("low_balance_threshold_usdc".to_owned(), amount.into())));
    body(fields)
}
