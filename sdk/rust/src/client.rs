//! Calls of the director: attempts, replicas, tokens, pauses.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, CONTENT_TYPE};
use reqwest::{redirect, Method, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use crate::events::{Event, EventParser};
use crate::retry::{Pacer, Replicas, RetryPolicy};
use crate::{Error, Options, Retry, Token};

/// The director's answers have some hundred bytes. A peer that sends more than 1 MiB is not the director.
pub(crate) const MAX_ANSWER: usize = 1 << 20;
/// How long a stream of events may send nothing: the director sends a comment every 15 s, a sidecar every 10 s.
const MAX_SILENCE: Duration = Duration::from_secs(45);
/// Of a stream of a ticket's events, in bytes.
const MAX_EVENT: usize = 64 << 10;

const WRONG_URLS: &str = "urls: want http(s)://host[:port][/prefix], without a user or a query";

/// What the calls of one client share.
pub(crate) struct Client {
    http: reqwest::Client,
    options: Options,
    replicas: Replicas,
    /// Counts the tokens that were replaced: calls that are refused together get one new token.
    renewals: Mutex<u64>,
}

/// One call of the API, which may take several attempts.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<String>,
    /// How long the director may take, in addition to the timeout of an attempt.
    pub(crate) wait: Duration,
    /// Also after an attempt whose outcome is unknown.
    pub(crate) may_repeat: bool,
    /// Of a stream, in bytes.
    pub(crate) longest_event: usize,
}

impl Call {
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            headers: Vec::new(),
            body: None,
            wait: Duration::ZERO,
            may_repeat: true,
            longest_event: MAX_EVENT,
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: impl Into<String>, body: &impl serde::Serialize) -> Self {
        let mut call = Self::new(Method::POST, path);
        call.body = Some(serde_json::to_string(body).unwrap_or_default()); // texts, numbers and maps of texts
        call
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// All attempts of a call have the same key.
    pub(crate) fn idempotent(self) -> Self {
        let key: String = std::iter::repeat_with(|| fastrand::digit(16)).take(32).collect();
        self.header("Idempotency-Key", key)
    }

    /// Names the call in errors, without its query.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path.split('?').next().unwrap_or_default())
    }
}

/// Escapes a segment of a path.
pub(crate) fn escaped(segment: &str) -> String {
    let keep = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    segment.bytes().map(|b| if keep(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// A stream of events that a replica has begun.
pub(crate) struct Stream {
    response: Response,
    parser: EventParser,
    name: String,
}

impl Client {
    /// Errors: Invalid.
    pub(crate) fn new(options: Options) -> Result<Arc<Self>, Error> {
        let replicas = Replicas::new(&options.urls).ok_or_else(|| Error::invalid("", WRONG_URLS))?;
        let http = reqwest::Client::builder()
            // A token must not go where a redirect leads.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("lattice-director-rust/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|_| Error::invalid("", "the HTTP client cannot be made: TLS is not available"))?;
        Ok(Arc::new(Self { http, options, replicas, renewals: Mutex::new(0) }))
    }

    pub(crate) fn pacer(&self) -> Pacer {
        Pacer::new(self.options.first_backoff, self.options.max_backoff)
    }

    /// Makes a call until it has an answer that is not worth a retry, and decodes it.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        let name = call.name();
        let value = self.call(call).await?;
        // The text is not quoted: it may contain a session token.
        serde_json::from_value(value).map_err(|_| Error::unreadable(&name, "the answer lacks what every director sends"))
    }

    /// As [`Client::ask`], with the document as it is; `Null` for an empty answer.
    pub(crate) async fn call(&self, call: Call) -> Result<Value, Error> {
        let (mut pacer, mut policy, mut is_renewed) = (self.pacer(), RetryPolicy::default(), false);
        loop {
            let error = match self.exchange(&call, &mut is_renewed).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let is_known = call.may_repeat || error.kind != crate::ErrorKind::Unreachable;
            if !is_known || !policy.repeats(&error) {
                return Err(error);
            }
            self.pause(&error, &mut pacer).await;
        }
    }

    pub(crate) async fn pause(&self, error: &Error, pacer: &mut Pacer) {
        let pause = pacer.after(error);
        if let Some(tell) = &self.options.on_retry {
            tell(&Retry { error: error.clone(), pause });
        }
        sleep(pause).await;
    }

    async fn exchange(&self, call: &Call, is_renewed: &mut bool) -> Result<Value, Error> {
        let bound = self.options.attempt_timeout + call.wait;
        self.on_replicas(call, is_renewed, |response, name| async move {
            let body = timeout(bound, read_body(response, &name)).await;
            let body = body.map_err(|_| Error::unreachable(&name, "the director did not answer in time"))??;
            if body.is_empty() {
                return Ok(Value::Null);
            }
            match serde_json::from_slice::<Value>(&body) {
                Ok(document) if document.is_object() => Ok(document),
                _ => Err(Error::unreadable(&name, "the answer is not a JSON object")),
            }
        })
        .await
    }

    /// Opens a stream of events at a replica.
    pub(crate) async fn stream(&self, call: &Call) -> Result<Stream, Error> {
        let longest = call.longest_event;
        self.on_replicas(call, &mut false, |response, name| async move {
            let kind = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
            if response.status() != 200 || !kind.starts_with("text/event-stream") {
                return Err(Error::unreachable(&name, "the answer is no stream of events"));
            }
            Ok(Stream { response, parser: EventParser::new(longest), name })
        })
        .await
    }

    /// Asks each replica in turn, without a pause: one that is unreachable or shutting down says nothing about the others.
    /// A token that is refused is replaced, once for a call.
    async fn on_replicas<T, R>(&self, call: &Call, is_renewed: &mut bool, read: impl Fn(Response, String) -> R) -> Result<T, Error>
    where
        R: std::future::Future<Output = Result<T, Error>>,
    {
        let mut token = self.token(call).await?;
        let mut left = self.replicas.len();
        loop {
            let base = self.replicas.pick().to_owned();
            let error = match self.attempt(&base, call, token.as_ref()).await {
                Ok(response) => match read(response, call.name()).await {
                    Ok(value) => return Ok(value),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            if error.is_of_replica() {
                self.replicas.note_failure(&base);
                left -= 1;
                if call.may_repeat && left > 0 {
                    continue;
                }
            }
            if error.status != 401 || *is_renewed || !matches!(self.options.token, Some(Token::Source(_))) {
                return Err(error);
            }
            *is_renewed = true;
            token = self.renewed_token(call, token).await?;
            left = self.replicas.len();
        }
    }

    /// Sends a request to one replica. Errors: Unreachable, Refused.
    async fn attempt(&self, base: &str, call: &Call, token: Option<&KnownToken>) -> Result<Response, Error> {
        let name = call.name();
        let mut request = self.http.request(call.method.clone(), format!("{base}{}", call.path));
        for (key, value) in &call.headers {
            request = request.header(*key, value);
        }
        if let Some(known) = token {
            request = request.bearer_auth(&known.text);
        }
        if let Some(body) = &call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        if let (Some(tell), true) = (&self.options.on_stream, call.path.ends_with("/events")) {
            tell(base, call.headers.iter().find(|(key, _)| *key == "Last-Event-ID").map(|(_, value)| value.as_str()));
        }
        let bound = self.options.attempt_timeout + call.wait;
        let sent = timeout(bound, request.send()).await;
        let sent = sent.map_err(|_| Error::unreachable(&name, "the director did not answer in time"))?;
        // Its text may have the URL, and is not the caller's to see.
        let response = sent.map_err(|_| Error::unreachable(&name, "the director is not reachable"))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = timeout(bound, read_body(response, &name)).await;
        let body = body.map_err(|_| Error::unreachable(&name, "the director did not answer in time"))??;
        Err(refusal(&name, status, &headers, &body))
    }

    async fn token(&self, call: &Call) -> Result<Option<KnownToken>, Error> {
        let number = *self.renewals.lock().await;
        self.pass_token(call, false, number).await
    }

    /// Replaces a token that was refused, unless another call has done so meanwhile.
    async fn renewed_token(&self, call: &Call, refused: Option<KnownToken>) -> Result<Option<KnownToken>, Error> {
        let mut number = self.renewals.lock().await;
        let must_renew = refused.map_or(true, |known| known.number == *number);
        let token = self.pass_token(call, must_renew, *number + u64::from(must_renew)).await?;
        *number += u64::from(must_renew);
        Ok(token)
    }

    async fn pass_token(&self, call: &Call, renew: bool, number: u64) -> Result<Option<KnownToken>, Error> {
        let text = match &self.options.token {
            None => return Ok(None),
            Some(Token::Fixed(text)) => text.clone(),
            Some(Token::Source(login)) => login(renew).await.unwrap_or_default(),
        };
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::invalid(&call.name(), "token: want the access token as a text without spaces"));
        }
        Ok(Some(KnownToken { text, number }))
    }
}

/// A token, and after how many renewals it was the current one.
struct KnownToken {
    text: String,
    number: u64,
}

fn refusal(name: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    Error::refused(name, status, headers, body)
}

async fn read_body(mut response: Response, name: &str) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(body),
            Ok(Some(piece)) if body.len() + piece.len() <= MAX_ANSWER => body.extend_from_slice(&piece),
            Ok(Some(_)) => return Err(Error::unreachable(name, "the answer is too long")),
            Err(_) => return Err(Error::unreachable(name, "the director is not reachable")),
        }
    }
}

impl Stream {
    /// Waits for the next events. Errors: Unreachable, also at the end of the stream: it may be opened again.
    pub(crate) async fn next(&mut self) -> Result<Vec<Event>, Error> {
        loop {
            let piece = timeout(MAX_SILENCE, self.response.chunk()).await;
            let piece = piece.map_err(|_| Error::unreachable(&self.name, "the stream of events is silent"))?;
            let Ok(Some(piece)) = piece else {
                return Err(Error::unreachable(&self.name, "the stream of events has ended"));
            };
            let events = self.parser.push(&piece).map_err(|_| Error::unreachable(&self.name, "an event is too long"))?;
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }
}
