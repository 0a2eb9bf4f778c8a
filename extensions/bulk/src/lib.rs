//! Bulk changes: one change of many accounts, each answered and on record as if it were asked for alone. This crate decides nothing
//! about an account; that is up to the services. Start at `routes.rs`, then `change.rs`.

mod change;
mod many;
mod routes;

#[cfg(test)]
mod tests;

use purser_api::web::name_once;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::change::{Changed, Compared, change, compare};
pub use self::many::{Many, ManyChange, ManyDone};

/// The routes of REST that this extension adds, to be done once per name and on record.
pub fn routes(many: Many) -> OpenApiRouter {
    extension().with_state(many)
}

/// Their description.
pub fn described() -> OpenApi {
    extension().into_openapi()
}

fn extension() -> OpenApiRouter<Many> {
    name_once(OpenApiRouter::default().routes(routes!(routes::policies)).routes(routes!(routes::halts)))
}
