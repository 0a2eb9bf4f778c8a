//! Purchases by x402: an agent pays for what a server sells. The payment is an ordinary transfer, but for who sends its bytes, and
//! all that this crate has of the service are requests to servers ([`Fetches`]) and such transfers ([`HandOvers`]). Start at `purchases.rs`.
//! See [decision 25](../../../docs/dev/decisions/0025-x402-purchases-are-transfers.md).
//!
//! [`Fetches`]: purser_service::Fetches
//! [`HandOvers`]: purser_service::HandOvers

mod error;
mod header;
mod offer;
mod payments;
mod purchase;
mod purchases;
mod schema;
mod seller;

use purser_service::Services;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::purchases::Purchases;

/// The routes of REST that this extension adds, for behind REST's guard.
pub fn routes(services: &Services) -> OpenApiRouter {
    extension().with_state(Purchases::new(services))
}

/// Their description.
pub fn described() -> OpenApi {
    extension().into_openapi()
}

fn extension() -> OpenApiRouter<Purchases> {
    OpenApiRouter::default().routes(routes!(payments::create))
}
