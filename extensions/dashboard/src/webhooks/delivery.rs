use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use purser_model::{AttemptOutcome, Delivery, DeliveryState, Event, EventId, Webhook, WebhookId};
use purser_service::{Resource, ServiceError, Services, events};

use crate::page::{Frame, PageError, Section, page};
use crate::session::Signed;
use crate::text::filters;

#[derive(Template)]
#[template(path = "delivery.html")]
struct DeliveryPage {
    frame: Frame,
    webhook: Webhook,
    delivery: Delivery,
    /// As it is sent.
    body: String,
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    Path((webhook, event)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let no_webhook = |_| ServiceError::NotFound(Resource::Webhook);
    let no_event = |_| ServiceError::NotFound(Resource::Event);
    let id: WebhookId = webhook.parse().map_err(no_webhook)?;
    let event: EventId = event.parse().map_err(no_event)?;
    let webhook = services.webhooks.get(&signed.operator, id).await?;
    let delivery = services.webhooks.delivery(&signed.operator, id, event).await?;
    let event: Event = events::get(&services.inside, &signed.operator, event).await?;
    let frame = signed.frame(Section::Webhooks);
    let body = event.envelope().get().to_owned();
    Ok(page(&DeliveryPage { frame, webhook, delivery, body }, None))
}
