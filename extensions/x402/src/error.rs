use purser_api::web::{ApiError, Code};
use purser_service::ServiceError;

/// Why there is no purchase. Payments that end badly are transfers, not errors.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum PurchaseError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The seller asks for a payment that cannot or may not be made. Nothing was paid.
    #[error("{0}")]
    OfferRefused(String),
    /// Its server did not answer. Holds the reason, phrased to follow "The server". Nothing was paid.
    #[error("the server {0}")]
    NotFetched(&'static str),
    /// As many servers are being asked for the operator as may be. This one was not, and nothing was paid.
    #[error("too many servers are being asked")]
    NoRoom,
}

impl From<PurchaseError> for ApiError {
    fn from(error: PurchaseError) -> Self {
        match error {
            PurchaseError::Service(error) => error.into(),
            PurchaseError::OfferRefused(message) => Self::OfExtension(Code::OfferRefused, message.into()),
            PurchaseError::NotFetched(problem) => {
                Self::OfExtension(Code::ServerUnreachable, format!("The server {problem} Nothing was paid.").into())
            }
            PurchaseError::NoRoom => Self::OfExtension(
                Code::RateLimited,
                "The operator's purchases have as many connections open as they may have. Nothing was paid. Send the same \
                 request again after `Retry-After`."
                    .into(),
            ),
        }
    }
}
