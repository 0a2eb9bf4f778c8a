//! `purser listen`: an operator's events as they happen, printed, and posted to a receiver as a webhook's deliveries would be. It
//! reads the stream of events, so the service need not reach the receiver.

mod stream;

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use reqwest::header::ACCEPT;
use reqwest::{Client, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use self::stream::{Block, Blocks};
use super::log::escaped;
use super::output::{Format, print_line};
use purser_model::{EventId, WebhookSecret};
use purser_service::SystemClock;
use purser_webhooks::{ATTEMPT_TIMEOUT, Payload};

const KEY_VARIABLE: &str = "PURSER_OPERATOR_KEY";
/// The service says something every 15 s.
const SILENCE_MAX: Duration = Duration::from_secs(45);
/// The wait before the stream is opened again, as the service's `retry` asks.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// How many of the newest events are remembered: one that comes again is not handed on again.
const REMEMBERED: usize = 10_000;
/// How much of an error's body is shown, in bytes.
const ERROR_BYTES_MAX: usize = 4_096;

#[derive(Debug, clap::Args)]
pub(super) struct Listen {
    /// The service's REST interface, with its /v1
    #[arg(long, env = "PURSER_URL", default_value = "http://127.0.0.1:8080/v1")]
    url: Url,
    /// Where to post each event; nothing is posted twice, whatever the answer
    #[arg(long, value_name = "URL")]
    forward_to: Option<Url>,
    /// Types of events, with commas between them; without it, all
    #[arg(long, value_name = "TYPES")]
    events: Option<String>,
    /// What signs the posts: whsec_ and base64. Without it, a new one is made and printed
    #[arg(long, env = "PURSER_WEBHOOK_SECRET", hide_env_values = true)]
    secret: Option<SecretString>,
}

struct Listener {
    format: Format,
    stream: Client,
    url: Url,
    key: SecretString,
    receiver: Option<Receiver>,
}

/// Where the stream stands.
#[derive(Default)]
struct Place {
    last_id: Option<String>,
    /// Ids of events that were handed on, the newest last.
    handed_on: VecDeque<EventId>,
}

struct Receiver {
    client: Client,
    url: Url,
    secret: WebhookSecret,
    is_secret_new: bool,
}

/// What is needed of an event.
#[derive(Deserialize)]
struct EventHead {
    id: String,
    r#type: String,
}

/// Listens until the process is stopped.
pub(super) async fn run(format: Format, arguments: Listen) -> Result<()> {
    let key = std::env::var(KEY_VARIABLE)
        .with_context(|| format!("{KEY_VARIABLE} is not set; it holds an operator's API key"))?;
    let mut url = Url::parse(&format!("{}/events", arguments.url.as_str().trim_end_matches('/')))?;
    if let Some(events) = &arguments.events {
        url.query_pairs_mut().append_pair("type", events);
    }
    let receiver = arguments.forward_to.map(|to| Receiver::new(to, arguments.secret.as_ref()));
    let listener = Listener {
        format,
        stream: Client::builder().read_timeout(SILENCE_MAX).build()?,
        url,
        key: key.into(),
        receiver: receiver.transpose()?,
    };
    let mut place = Place::default();
    loop {
        if let Some(stream) = listener.open(place.last_id.as_deref()).await? {
            listener.follow(stream, &mut place).await?;
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

impl Listener {
    /// `None` where asking again later can help.
    async fn open(&self, last_id: Option<&str>) -> Result<Option<Response>> {
        let mut request = self.stream.get(self.url.clone()).bearer_auth(self.key.expose_secret());
        request = request.header(ACCEPT, "text/event-stream");
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) => {
                let error = Error::new(error);
                tracing::warn!(error = format!("{error:#}"), "the service does not answer; asking again");
                return Ok(None);
            }
        };
        let status = answer.status();
        if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            bail!("the service answers {status}: {}", beginning(answer).await);
        }
        if !status.is_success() {
            tracing::warn!(%status, "the service opens no stream; asking again");
            return Ok(None);
        }
        Ok(Some(answer))
    }

    /// Until the stream ends. `place` is where the next one goes on.
    async fn follow(&self, mut stream: Response, place: &mut Place) -> Result<()> {
        let mut blocks = Blocks::default();
        while let Ok(Some(bytes)) = stream.chunk().await {
            for Block { id, data, is_too_long } in blocks.read(&bytes) {
                if is_too_long {
                    tracing::warn!("an event is too long; it is left out");
                } else if let Some(event) = data {
                    self.hand_on(&event, place).await?;
                }
                if let Some(id) = id {
                    if place.last_id.is_none() {
                        self.print_beginning()?;
                    }
                    place.last_id = Some(id);
                }
            }
        }
        Ok(())
    }

    /// From here on, nothing is missed.
    fn print_beginning(&self) -> Result<()> {
        let url = self.url.as_str();
        let to = self.receiver.as_ref().map(|receiver| receiver.url.as_str());
        let new_secret = self.receiver.as_ref().filter(|receiver| receiver.is_secret_new);
        let new_secret = new_secret.map(|receiver| receiver.secret.expose());
        match self.format {
            Format::Json => {
                print_line(&json!({ "listening": url, "forward_to": to, "secret": new_secret }).to_string())
            }
            Format::Text | Format::Env => {
                let to = to.map_or_else(String::new, |to| format!(", posted to {to}"));
                let signed = new_secret.map_or_else(String::new, |secret| format!(", signed with {secret}"));
                print_line(&format!("Events of {url}{to}{signed}. Ctrl-C ends it."))
            }
        }
    }

    /// Hands an event on, unless it was before or cannot be read.
    async fn hand_on(&self, event: &str, place: &mut Place) -> Result<()> {
        let Some((id, kind, value)) = read(event) else {
            tracing::warn!("an event cannot be read; it is left out");
            return Ok(());
        };
        if place.handed_on.contains(&id) {
            return Ok(());
        }
        place.handed_on.push_back(id);
        if place.handed_on.len() > REMEMBERED {
            place.handed_on.pop_front();
        }
        let answer = match &self.receiver {
            None => None,
            Some(receiver) => Some(receiver.post(id, event).await),
        };
        match self.format {
            Format::Json => print_line(&json!({ "event": value, "answer": answer }).to_string()),
            Format::Text | Format::Env => {
                let answer = answer.map_or_else(String::new, |answer| format!(" -> {answer}"));
                let head = escaped(&format!("{kind} {id}{answer}"), false);
                print_line(&format!("{head}\n  {}", escaped(event, false)))
            }
        }
    }
}

/// The id of an event, its type, and all of it. `None`: this is no event.
fn read(event: &str) -> Option<(EventId, String, Value)> {
    let value: Value = serde_json::from_str(event).ok()?;
    let EventHead { id, r#type } = EventHead::deserialize(&value).ok()?;
    Some((id.parse().ok()?, r#type, value))
}

/// The beginning of an answer's body, however long it is.
async fn beginning(mut answer: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < ERROR_BYTES_MAX
        && let Ok(Some(chunk)) = answer.chunk().await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(ERROR_BYTES_MAX);
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Receiver {
    fn new(url: Url, secret: Option<&SecretString>) -> Result<Self> {
        let given = secret.map(|secret| {
            WebhookSecret::parse(secret.expose_secret()).context("--secret must be whsec_ and base64")
        });
        let given = given.transpose()?;
        let client = Client::builder().timeout(ATTEMPT_TIMEOUT).redirect(reqwest::redirect::Policy::none());
        Ok(Self {
            client: client.build()?,
            url,
            is_secret_new: given.is_none(),
            secret: given.unwrap_or_else(|| WebhookSecret::new(&SystemClock::SYSTEM.random())),
        })
    }

    /// The receiver's status, or why there is none.
    async fn post(&self, id: EventId, event: &str) -> Value {
        let payload = Payload::new(id, event.into(), SystemClock::SYSTEM.now(), &self.secret, None);
        let mut request = self.client.post(self.url.clone());
        for (name, value) in payload.headers {
            request = request.header(name, value);
        }
        match request.body(payload.body).send().await {
            Ok(answer) => answer.status().as_u16().into(),
            Err(error) => format!("no answer: {:#}", Error::new(error.without_url())).into(),
        }
    }
}
