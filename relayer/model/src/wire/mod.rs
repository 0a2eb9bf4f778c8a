//! Values as JSON, as they are answered, announced, stored and signed, each with its OpenAPI schema: nothing further in knows either.

mod action;
mod checks;
mod denial;
pub mod events;
mod policy;
pub mod schema;

pub use self::action::{ActionName, ActionObject, ActionResponse, Fields};
pub use self::checks::CheckBody;
pub use self::denial::{DenialDocument, DenialSignature};
pub use self::policy::{PolicyFields, PolicyVersion, WarningBody};
