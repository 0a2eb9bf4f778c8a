//! Approvals: a payment that policy refused waits for a person, and an approver lets it pass by a grant of their own wallet. This
//! crate lists, describes and ends what waits, and pays for grants. It approves nothing. Start at `approvals.rs`.

mod approvals;
mod co_signatures;
mod links;
mod routes;

#[cfg(test)]
mod tests;

use purser_api::web::name_once;
pub use purser_chain::ForApprover;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::approvals::{ApprovalAsked, ApprovalView, Approvals, LinkedApproval};
pub use self::links::ApprovalLinks;

/// The routes of REST that this extension adds, to be done once per name and on record.
pub fn routes(approvals: Approvals) -> OpenApiRouter {
    extension().with_state(approvals)
}

/// Their description.
pub fn described() -> OpenApi {
    extension().into_openapi()
}

fn extension() -> OpenApiRouter<Approvals> {
    let routes = OpenApiRouter::default()
        .routes(routes!(routes::list))
        .routes(routes!(routes::get, routes::withdraw))
        .routes(routes!(routes::reject));
    name_once(routes)
}
