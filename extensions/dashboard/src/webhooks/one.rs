use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use purser_api::web::{ApiError, OnRecord, RequestRandom, shown_once};
use purser_model::{
    AttemptOutcome, BlockedBy, Delivering, Delivery, DeliveryState, DeliveryStatus, DisabledReason, EventId,
    Invalid, ReplayScope, UpdateWebhook, Webhook, WebhookId, WebhookStatus,
};
use purser_service::audit_scope::AuditScope;
use purser_service::{DeliveriesFilter, Replay, Resource, ServiceError, Services};

use super::list::SecretPage;
use crate::form::Form;
use crate::names::{Names, Shown};
use crate::once::{FormWork, work};
use crate::page::{Complaint, Frame, PageError, PageId, ProgressPage, QueryParams, Section, page, see};
use crate::session::Signed;
use crate::text::filters;

const LIMIT: u32 = 50;
/// How far waiting deliveries are counted while their number is not known yet.
const COUNTED_MAX: u32 = 100_000;

#[derive(Template)]
#[template(path = "webhook.html")]
struct WebhookPage {
    frame: Frame,
    webhook: Webhook,
    has_undelivered: bool,
    deliveries: Vec<Delivery>,
    status: Option<DeliveryStatus>,
    blocked_by: Option<BlockedBy>,
    names: Names,
    next: Option<String>,
    form: Form,
    complaint: Option<Complaint>,
}

impl WebhookPage {
    fn aria_current(&self, status: &str) -> &'static str {
        if self.status.map_or("", DeliveryStatus::as_str) == status { "true" } else { "false" }
    }
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<WebhookId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let notice =
        asked.given("replayed").and_then(|count| count.parse::<u64>().ok()).map(|count| match count {
            0 => "Nothing was sent again: there was nothing to send, or it is being attempted right now."
                .to_owned(),
            1 => "1 event is on its way again.".to_owned(),
            count => format!("{count} events are on their way again."),
        });
    let others = [
        ("tested", "A test event is on its way."),
        ("sent", "Each of these events was sent again. The results are below."),
        ("left", "Sending again was interrupted. Send the span again: no event is lost by that."),
    ];
    let other = others.into_iter().find(|(name, _)| asked.given(name).is_some());
    let notice = notice.or_else(|| other.map(|(_, text)| text.to_owned()));
    answer(&services, &signed, id, &asked, Form::default(), notice, None).await
}

async fn answer(
    services: &Services,
    signed: &Signed,
    id: WebhookId,
    asked: &QueryParams,
    form: Form,
    notice: Option<String>,
    complaint: Option<Complaint>,
) -> Result<Response, PageError> {
    let operator = &signed.operator;
    let webhook = services.webhooks.get(operator, id).await?;
    let status = asked.read("status")?;
    let filter = DeliveriesFilter { webhook_id: id, status };
    let (deliveries, blocked_by) = services.webhooks.deliveries(operator, filter, asked.page(LIMIT)).await?;
    let mut shown = Shown::default();
    webhook.subscription.accounts().iter().for_each(|id| shown.account(*id));
    let names = shown.named(services, operator).await?;
    let shown = WebhookPage {
        frame: signed.frame(Section::Webhooks).with_notice(notice),
        has_undelivered: services.webhooks.undelivered(operator).await?.contains(&id),
        next: asked.next(&format!("/dashboard/webhooks/{id}"), deliveries.next.as_ref()),
        webhook,
        deliveries: deliveries.items,
        status,
        blocked_by,
        names,
        form,
        complaint,
    };
    Ok(page(&shown, shown.complaint.as_ref()))
}

/// Replays one event, the chosen ones, or those of a span of time.
pub async fn replay(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<WebhookId>,
    asked: QueryParams,
    form: Form,
) -> Result<Response, PageError> {
    match replay_asked(&services, (&signed, &scope), id, &form).await {
        Ok(count) if count > u64::from(LIMIT) => {
            Ok(see(&format!("/dashboard/webhooks/{id}/replay?of={count}")))
        }
        Ok(count) => Ok(see(&format!("/dashboard/webhooks/{id}?replayed={count}"))),
        Err(error) => {
            let complaint = Complaint::of(error)?;
            answer(&services, &signed, id, &asked, form, None, Some(complaint)).await
        }
    }
}

/// How far a replay of many events is: first while they are looked for, then while they are sent.
pub async fn progress(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<WebhookId>,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let back = format!("/dashboard/webhooks/{id}");
    let count = asked.given("of").and_then(|count| count.parse::<u32>().ok());
    let waiting = services.webhooks.unattempted(&signed.operator, id, count.unwrap_or(COUNTED_MAX)).await?;
    let (words, done) = match (asked.given("working"), count) {
        (Some(name), _) => match work(&services, &signed, name).await? {
            FormWork::Running => {
                let at_least = if waiting < u64::from(COUNTED_MAX) { "" } else { "at least " };
                let words = format!(
                    "The events of the span are being looked for; {at_least}{waiting} wait to be sent so far."
                );
                (words, None)
            }
            FormWork::Done(answer) => return Ok(answer),
            FormWork::Left => return Ok(see(&format!("{back}?left=1"))),
        },
        (None, Some(count)) if waiting > 0 => {
            let (count, sent) = (u64::from(count), u64::from(count).saturating_sub(waiting));
            (format!("{sent} of {count} events were sent so far."), Some((sent, count)))
        }
        (None, Some(_)) => return Ok(see(&format!("{back}?sent=1"))),
        (None, None) => return Ok(see(&back)),
    };
    let frame = signed.frame(Section::Webhooks);
    Ok(ProgressPage { frame, title: "Sending again", words, done, back }.into_response())
}

fn span_of(form: &Form) -> Result<Replay, Invalid> {
    let (since, until) = (form.moment("since")?, form.moment("until")?);
    let scope =
        form.given("status").map_or(Ok(ReplayScope::NotDelivered), |text| Invalid::unless("status", text))?;
    let since = since.ok_or_else(|| Invalid::new("since", "is required"))?;
    Ok(Replay::Span { since, until, scope })
}

async fn replay_asked(
    services: &Services,
    (signed, scope): (&Signed, &AuditScope),
    id: WebhookId,
    form: &Form,
) -> Result<u64, ApiError> {
    let operator = &signed.operator;
    if form.given("since").is_some() || form.given("until").is_some() {
        return Ok(services.webhooks.replay(operator, id, span_of(form)?, scope).await?);
    }
    let unknown = |_| ServiceError::NotFound(Resource::Event);
    let events: Vec<EventId> =
        form.all("event").map(str::parse).collect::<Result<_, _>>().map_err(unknown)?;
    if events.is_empty() {
        return Err(Invalid::new("event", "must be chosen: mark the events to send again").into());
    }
    if events.len() > LIMIT as usize {
        return Err(Invalid::new("event", format!("may be chosen {LIMIT} times at most; use a span")).into());
    }
    let mut count = 0;
    for event in events {
        count += services.webhooks.replay(operator, id, Replay::Event(event), scope).await?;
    }
    Ok(count)
}

pub async fn test(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<WebhookId>,
    asked: QueryParams,
    RequestRandom(drawn): RequestRandom,
) -> Result<Response, PageError> {
    match services.webhooks.test(&signed.operator, id, drawn, &scope).await {
        Ok(_) => Ok(see(&format!("/dashboard/webhooks/{id}?tested=1"))),
        Err(error) => {
            let complaint = Complaint::of(error)?;
            answer(&services, &signed, id, &asked, Form::default(), None, Some(complaint)).await
        }
    }
}

pub async fn rotate(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<WebhookId>,
    RequestRandom(drawn): RequestRandom,
) -> Result<Response, PageError> {
    let new = services.webhooks.rotate_secret(&signed.operator, id, drawn, &scope).await?;
    let frame = signed.frame(Section::Webhooks);
    Ok(shown_once(page(&SecretPage { frame, new, is_rotated: true }, None)))
}

/// Enables, disables or forgets the webhook.
pub async fn change_status(
    State(services): State<Arc<Services>>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    PageId(id): PageId<WebhookId>,
    form: Form,
) -> Result<Response, PageError> {
    let status = match form.text("status") {
        "enabled" => Delivering::Enabled,
        "disabled" => Delivering::Disabled,
        "deleted" => {
            services.webhooks.delete(&signed.operator, id, &scope).await?;
            return Ok(see("/dashboard/webhooks"));
        }
        _ => return Err(Invalid::new("status", "must be `enabled`, `disabled` or `deleted`").into()),
    };
    let asked = UpdateWebhook { status: Some(status), ..UpdateWebhook::default() };
    services.webhooks.update(&signed.operator, id, asked, &scope).await?;
    Ok(see(&format!("/dashboard/webhooks/{id}")))
}
