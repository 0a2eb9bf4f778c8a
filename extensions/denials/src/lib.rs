//! Signed refusals: each rejected transfer joins its operator's chain of denials, which REST lists and whose head is written on
//! Solana. Start at `denials.rs`.

mod denials;
mod routes;
mod section;

#[cfg(test)]
mod tests;

use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::denials::{DenialParts, Denials};
pub use self::section::Section;

/// The routes of REST that this extension adds.
pub fn routes(denials: Denials) -> OpenApiRouter {
    extension().with_state(denials)
}

/// Their description.
pub fn described() -> OpenApi {
    extension().into_openapi()
}

fn extension() -> OpenApiRouter<Denials> {
    OpenApiRouter::default().routes(routes!(routes::list))
}
