//! A ticket in the queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use tokio::time::sleep;

use crate::client::{escaped, Call, Client, Stream};
use crate::retry::{Pacer, RetryPolicy};
use crate::Error;

/// Seconds within which half, and nine of ten, of those who wait like this are matched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Half of them.
    pub p50: f64,
    /// Nine of ten.
    pub p90: f64,
}

/// A ticket as one of its players sees it. Which fields it has depends on its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TicketStatus {
    /// The id of the ticket.
    pub ticket_id: String,
    /// queued, paused, matched, accepting, waiting_for_server, assigned, declined, cancelled, expired. Treat one that you do
    /// not know as queued: a newer director may send it.
    pub state: String,
    /// Counts the states.
    pub version: u64,
    /// The players of the ticket.
    #[serde(default)]
    pub party: Vec<String>,
    /// The place in line, from 1.
    #[serde(default)]
    pub place: Option<u64>,
    /// How long it may take.
    #[serde(default)]
    pub estimate: Option<Estimate>,
    /// In accepting: give it to [`Ticket::accept`] and [`Ticket::decline`].
    #[serde(default)]
    pub match_id: Option<String>,
    /// In assigned: exchange it with [`Player::resolve`](crate::Player::resolve).
    #[serde(default)]
    pub session_handle: Option<String>,
    /// In assigned: the team.
    #[serde(default)]
    pub team: Option<String>,
    /// Why it left the queue.
    #[serde(default)]
    pub reason: Option<String>,
    /// The same for people.
    #[serde(default)]
    pub detail: Option<String>,
    /// Fields that this release does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl TicketStatus {
    /// Whether the ticket has left the queue.
    pub fn is_final(&self) -> bool {
        matches!(self.state.as_str(), "assigned" | "declined" | "cancelled" | "expired")
    }

    /// Whether nothing is new compared with a status that was seen before.
    fn is_old(&self, seen: &Self) -> bool {
        let step = |s: &Self| s.other.get("step").cloned();
        self.version < seen.version || self.version == seen.version && self.state == seen.state && step(self) == step(seen)
    }
}

/// A ticket in the queue. It stays there while one of its players watches it or asks for it; 30 seconds later it expires. A
/// clone is the same ticket.
#[derive(Clone)]
pub struct Ticket {
    client: Arc<Client>,
    id: String,
    status: Arc<Mutex<Option<TicketStatus>>>,
}

/// How long the director waits for a new state.
const POLL: Duration = Duration::from_secs(25);

impl Ticket {
    pub(crate) fn new(client: Arc<Client>, id: String, status: Option<TicketStatus>) -> Self {
        Self { client, id, status: Arc::new(Mutex::new(status)) }
    }

    /// The id, which the members of a party send each other.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The last state that `queue`, `next` or a watch received; `None` before the first.
    pub fn status(&self) -> Option<TicketStatus> {
        self.status.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    fn keep(&self, status: &TicketStatus) {
        *self.status.lock().unwrap_or_else(|e| e.into_inner()) = Some(status.clone());
    }

    fn path(&self) -> String {
        format!("/tickets/{}", escaped(&self.id))
    }

    async fn ask(&self, call: Call) -> Result<TicketStatus, Error> {
        let name = call.name();
        let status: TicketStatus = self.client.ask(call.ticket(&self.id)).await?;
        if status.ticket_id != self.id {
            return Err(Error::unreadable(&name, "the answer is another ticket"));
        }
        Ok(status)
    }

    /// Reads the ticket now, such as for its place, which changes without a new state. It does not change [`Ticket::status`].
    pub async fn read(&self) -> Result<TicketStatus, Error> {
        self.ask(Call::get(self.path())).await
    }

    /// Takes the ticket out of the queue for the whole party: it is then in no match. Errors: assigned, matched, too_late.
    pub async fn cancel(&self) -> Result<TicketStatus, Error> {
        self.ask(Call::new(Method::DELETE, self.path())).await
    }

    /// Accepts the match of the status in which the player was asked. Errors: too_late, also for another match.
    pub async fn accept(&self, match_id: &str) -> Result<TicketStatus, Error> {
        self.answer("accept", match_id).await
    }

    /// Declines it; the caller's party leaves the queue. Errors: too_late.
    pub async fn decline(&self, match_id: &str) -> Result<TicketStatus, Error> {
        self.answer("decline", match_id).await
    }

    async fn answer(&self, word: &str, match_id: &str) -> Result<TicketStatus, Error> {
        self.ask(Call::post(format!("{}/{word}", self.path()), &json!({ "match_id": match_id }))).await
    }

    /// Waits until the ticket enters another state than [`Ticket::status`]; without one it is the current one. Errors:
    /// ticket_unknown, ticket_ended some minutes after the ticket left.
    pub async fn next(&self) -> Result<TicketStatus, Error> {
        let known = match self.status() {
            Some(status) if status.is_final() => return Ok(status),
            known => known,
        };
        let mut pacer = self.client.pacer();
        loop {
            let mut call = Call::get(format!("{}?wait=25s&version={}", self.path(), known.as_ref().map_or(0, |s| s.version)));
            call.wait = POLL;
            let asked = Instant::now();
            let status = self.ask(call).await?;
            self.keep(&status);
            if known.as_ref().map_or(true, |k| k.version != status.version || k.state != status.state) {
                return Ok(status);
            }
            if asked.elapsed() >= POLL / 2 {
                pacer.reset();
            } else {
                sleep(pacer.next()).await; // a replica that stops answers early
            }
        }
    }

    /// Follows the ticket until a final state: see [`Watch::next`].
    pub fn watch(&self) -> Watch {
        let seen: VecDeque<_> = self.status().filter(TicketStatus::is_final).into_iter().collect();
        Watch {
            pacer: self.client.pacer(),
            ticket: self.clone(),
            policy: RetryPolicy::default(),
            source: Source::Closed,
            unseen: seen,
            last: None,
            empty: 0,
            is_over: false,
        }
    }
}

/// After how many streams in a row that brought no event a watch polls instead.
const MAX_EMPTY: u32 = 3;
/// After which life of a stream the next failure counts as the first.
const STEADY: Duration = Duration::from_secs(10);

/// The states of a ticket, over broken streams of events; where streams bring nothing it polls.
pub struct Watch {
    ticket: Ticket,
    pacer: Pacer,
    policy: RetryPolicy,
    source: Source,
    unseen: VecDeque<TicketStatus>,
    last: Option<TicketStatus>,
    empty: u32,
    is_over: bool,
}

/// Where the next states come from.
enum Source {
    Closed,
    Open { stream: Stream, since: Instant, brought_news: bool },
    Polls { has_read: bool },
}

impl Watch {
    /// Waits for the ticket's next state: the current one first or, after [`Ticket::next`] or an earlier watch, those that
    /// the program has missed. A waiting ticket comes again when one of its rules widens. `None` comes after a final state.
    /// Errors: what a retry cannot change; the watch is over then. Dropping the future loses no state.
    pub async fn next(&mut self) -> Result<Option<TicketStatus>, Error> {
        while !self.is_over {
            if let Some(status) = self.unseen.pop_front() {
                if let Some(status) = self.take(status) {
                    return Ok(Some(status));
                }
            } else if let Err(error) = self.fetch().await {
                self.is_over = true;
                return Err(error);
            }
        }
        Ok(None)
    }

    /// Returns a state unless the program knows it: a new stream begins with the current one.
    fn take(&mut self, status: TicketStatus) -> Option<TicketStatus> {
        self.is_over = status.is_final();
        if self.last.as_ref().is_some_and(|last| status.is_old(last)) {
            return None;
        }
        self.ticket.keep(&status);
        self.last = Some(status.clone());
        Some(status)
    }

    async fn fetch(&mut self) -> Result<(), Error> {
        let failed = match &mut self.source {
            Source::Polls { has_read } => {
                let status = if *has_read { self.ticket.next().await? } else { self.ticket.read().await? };
                *has_read = true;
                self.unseen.push_back(status);
                return Ok(());
            }
            Source::Closed => match self.ticket.client.stream(&self.call()).await {
                Ok(stream) => {
                    self.source = Source::Open { stream, since: Instant::now(), brought_news: false };
                    return Ok(());
                }
                Err(error) => error,
            },
            Source::Open { stream, brought_news, .. } => match stream.next().await {
                Ok(events) => {
                    let states: Option<Vec<TicketStatus>> = events.iter().map(|e| serde_json::from_str(&e.data).ok()).collect();
                    match states.filter(|all| all.iter().all(|s| s.ticket_id == self.ticket.id)) {
                        Some(states) => {
                            *brought_news = true;
                            self.unseen.extend(states);
                            return Ok(());
                        }
                        // Another replica, or a poll, may be readable.
                        None => Error::unreachable(&self.call().name(), "the stream of events is unreadable"),
                    }
                }
                Err(error) => error,
            },
        };
        self.recover(failed).await
    }

    /// Waits before the next stream, unless a retry cannot change what failed.
    async fn recover(&mut self, error: Error) -> Result<(), Error> {
        if !self.policy.repeats(&error) {
            return Err(error);
        }
        let (brought_news, was_steady) = match self.source {
            Source::Open { since, brought_news, .. } => (brought_news, since.elapsed() >= STEADY),
            _ => (false, false),
        };
        self.empty = if brought_news { 0 } else { self.empty + 1 };
        if brought_news && was_steady {
            self.pacer.reset();
        }
        self.source = if self.empty < MAX_EMPTY { Source::Closed } else { Source::Polls { has_read: false } };
        self.ticket.client.pause(&error, &mut self.pacer).await;
        Ok(())
    }

    fn call(&self) -> Call {
        let call = Call::get(format!("{}/events", self.ticket.path())).ticket(&self.ticket.id);
        match self.ticket.status() {
            Some(status) => call.header("Last-Event-ID", status.version.to_string()),
            None => call,
        }
    }
}
