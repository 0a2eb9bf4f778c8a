//! Bulk changes: one change of many accounts, each answered and on record as if it were asked for alone. This crate decides nothing
//! about an account; that is up to the services. Start at `routes.rs`, then `change.rs`.

mod change;
mod many;
mod routes;

#[cfg(test)]
mod tests;

use axum::extract::FromRef;
use purser_api::web::name_once;
use purser_service::{Actions, Services};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::change::{Changed, Compared, change, compare};
pub use self::many::{Many, ManyChange, ManyDone};

/// The state of the routes.
#[derive(Clone)]
struct Bulk {
    many: Many,
    actions: Actions,
}

impl FromRef<Bulk> for Many {
    fn from_ref(bulk: &Bulk) -> Self {
        bulk.many.clone()
    }
}

impl FromRef<Bulk> for Actions {
    fn from_ref(bulk: &Bulk) -> Self {
        bulk.actions.clone()
    }
}

/// The routes of REST that this extension adds, to be done once per name and on record.
pub fn routes(many: Many, services: &Services) -> OpenApiRouter {
    extension().with_state(Bulk { many, actions: services.actions.clone() })
}

/// Their description.
pub fn described() -> OpenApi {
    extension().into_openapi()
}

fn extension() -> OpenApiRouter<Bulk> {
    name_once(OpenApiRouter::default().routes(routes!(routes::policies)).routes(routes!(routes::halts)))
}
