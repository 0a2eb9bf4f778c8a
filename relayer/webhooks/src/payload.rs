//! The request that delivers an event: the same body at every attempt, with a new signature.

use purser_model::{EventId, Timestamp, WebhookSecret};

use super::signature::{service_signature, standard_signature};

/// The body and the headers of one attempt.
#[derive(Debug, Clone)]
pub struct Payload {
    pub body: Vec<u8>,
    pub headers: Vec<(&'static str, String)>,
}

impl Payload {
    /// The request for an event's envelope at `at`, signed with the secret and, while they overlap, the one before.
    pub fn new(
        id: EventId,
        body: Vec<u8>,
        at: Timestamp,
        secret: &WebhookSecret,
        previous: Option<&WebhookSecret>,
    ) -> Self {
        let secrets: Vec<&WebhookSecret> = std::iter::once(secret).chain(previous).collect();
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("x-service-signature", service_signature(secret, &body)),
            ("webhook-id", id.to_string()),
            ("webhook-timestamp", at.unix_seconds().to_string()),
            ("webhook-signature", standard_signature(&secrets, id, at, &body)),
        ];
        if let Some(previous) = previous {
            headers.push(("x-service-signature-previous", service_signature(previous, &body)));
        }
        Self { body, headers }
    }
}
