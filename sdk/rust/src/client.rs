//! Calls of the director: attempts, replicas, tokens, pauses.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{redirect, Method, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use crate::cells::Cells;
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
    cells: Cells,
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
    /// The region, or the ticket, that the call names, as far as the client knows: it says which cell to ask.
    pub(crate) region: String,
    pub(crate) ticket: String,
    /// The cell that answers has the ticket of the answer.
    pub(crate) creates_ticket: bool,
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
            region: String::new(),
            ticket: String::new(),
            creates_ticket: false,
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

    pub(crate) fn region(mut self, region: impl Into<String>) -> Self {
        self.region = region.into();
        self
    }

    pub(crate) fn ticket(mut self, id: impl Into<String>) -> Self {
        self.ticket = id.into();
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
        Ok(Arc::new(Self { http, options, replicas, cells: Cells::default(), renewals: Mutex::new(0) }))
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
        let (document, cell) = self
            .with_token(call, is_renewed, |response, name| async move {
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
            .await?;
        if let (true, Some(cell), Some(id)) = (call.creates_ticket, cell, document["ticket_id"].as_str()) {
            self.cells.remember_ticket(id, &cell);
        }
        Ok(document)
    }

    /// Opens a stream of events at a replica.
    pub(crate) async fn stream(&self, call: &Call) -> Result<Stream, Error> {
        let (longest, mut is_renewed) = (call.longest_event, false);
        let opened = self.with_token(call, &mut is_renewed, |response, name| async move {
            let kind = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
            if response.status() != 200 || !kind.starts_with("text/event-stream") {
                return Err(Error::unreachable(&name, "the answer is no stream of events"));
            }
            Ok(Stream { response, parser: EventParser::new(longest), name })
        });
        opened.await.map(|(stream, _)| stream)
    }

    /// Makes a call until it is answered, and returns the cell that has answered, `None` for that of the configured replicas.
    /// A token that is refused is replaced, once for a call.
    async fn with_token<T, R>(
        &self, call: &Call, is_renewed: &mut bool, read: impl Fn(Response, String) -> R,
    ) -> Result<(T, Option<String>), Error>
    where
        R: std::future::Future<Output = Result<T, Error>>,
    {
        let mut token = self.token(call).await?;
        loop {
            let error = match self.reach(call, token.as_ref(), &read).await {
                Ok(found) => return Ok(found),
                Err(error) => error,
            };
            if error.status != 401 || *is_renewed || !matches!(self.options.token, Some(Token::Source(_))) {
                return Err(error);
            }
            *is_renewed = true;
            token = self.renewed_token(call, token).await?;
        }
    }

    /// Asks the cell that has what the call names, where that is known; else the configured replicas, and follows one answer
    /// that another cell has it. A region is asked for again when its cell does not answer or sends the client away; a ticket
    /// stays where it is.
    async fn reach<T, R>(
        &self, call: &Call, token: Option<&KnownToken>, read: &impl Fn(Response, String) -> R,
    ) -> Result<(T, Option<String>), Error>
    where
        R: std::future::Future<Output = Result<T, Error>>,
    {
        if let Some(cell) = self.cells.address_for(call) {
            match self.ask_at(&cell, call, token, read).await {
                Err(error) if call.ticket.is_empty() && (error.is_of_replica() || error.is_elsewhere()) => {
                    self.cells.forget_region(&call.region);
                }
                answer => return answer.map(|found| (found, Some(cell))),
            }
        }
        let (asked, error) = match self.try_replicas(call, token, read).await {
            Ok(found) => return Ok((found, None)),
            Err(refused) => refused,
        };
        let cell = self.cells.follow(&asked, &error).ok_or(error)?;
        let found = self.ask_at(&cell, call, token, read).await?;
        Ok((found, Some(cell)))
    }

    /// Asks each configured replica in turn, without a pause: one that is unreachable or shutting down says nothing about the
    /// others. Errors: with the replica that was asked last.
    async fn try_replicas<T, R>(
        &self, call: &Call, token: Option<&KnownToken>, read: &impl Fn(Response, String) -> R,
    ) -> Result<T, (String, Error)>
    where
        R: std::future::Future<Output = Result<T, Error>>,
    {
        let mut left = self.replicas.len();
        loop {
            let base = self.replicas.pick().to_owned();
            let error = match self.ask_at(&base, call, token, read).await {
                Ok(found) => return Ok(found),
                Err(error) => error,
            };
            if !error.is_of_replica() {
                return Err((base, error));
            }
            self.replicas.note_failure(&base);
            left -= 1;
            if !call.may_repeat || left == 0 {
                return Err((base, error));
            }
        }
    }

    async fn ask_at<T, R>(
        &self, base: &str, call: &Call, token: Option<&KnownToken>, read: &impl Fn(Response, String) -> R,
    ) -> Result<T, Error>
    where
        R: std::future::Future<Output = Result<T, Error>>,
    {
        let response = self.attempt(base, call, token).await?;
        read(response, call.name()).await
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
        Err(Error::refused(&name, status, &headers, &body))
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers every request with the same status and document, and returns the address.
    async fn answering(status: &str, document: Value) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let text = document.to_string();
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}", text.len());
        let answer = format!("{head}\r\nConnection: close\r\n\r\n{text}");
        tokio::spawn(async move {
            loop {
                let (mut conn, _) = listener.accept().await.unwrap();
                let _ = conn.read(&mut [0; 4096]).await;
                let _ = conn.write_all(answer.as_bytes()).await;
            }
        });
        address
    }

    /// A region of another cell is asked for there, and a ticket that it has created as well.
    #[tokio::test]
    async fn an_answer_that_another_cell_has_it_is_followed_once() {
        let other = answering("200 OK", serde_json::json!({"ticket_id": "t"})).await;
        let problem = |address: &str| serde_json::json!({"code": "region_elsewhere", "region": "us", "address": address});
        let first = answering("421 Misdirected Request", problem(&other)).await;
        let client = Client::new(Options::new([first.clone()])).unwrap();
        let mut call = Call::get("/").region("us");
        call.creates_ticket = true;
        assert_eq!(client.call(call.clone()).await.unwrap()["ticket_id"], "t");
        assert_eq!(client.cells.address_for(&call), Some(other.clone()));
        assert_eq!(client.cells.address_for(&Call::get("/").ticket("t")), Some(other));

        let circle = answering("421 Misdirected Request", problem(&first)).await;
        let client = Client::new(Options::new([circle])).unwrap();
        let error = client.call(Call::get("/").region("us")).await.unwrap_err();
        assert_eq!((error.status, error.region.as_str()), (421, "us"), "two cells that name each other");
    }
}
