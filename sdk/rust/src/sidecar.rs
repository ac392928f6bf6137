//! A game server's client of its sidecar.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};

use crate::client::{escaped, Call, Client, Stream, MAX_ANSWER};
use crate::events::Event;
use crate::retry::Pacer;
use crate::{Error, Options};

/// Where a sidecar listens unless it was told otherwise.
const USUAL_URL: &str = "http://127.0.0.1:9357";

/// What a game server says about itself.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ServerOffer {
    /// What players dial; empty for servers that the director has deployed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// Its region.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// The modes that it offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<String>,
    /// Its seats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Sessions at a time; `None`: as many as the capacity allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<u32>,
    /// Its version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The SHA-256 of its certificate in hex.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cert_digest: String,
    /// A random text that the process makes when it starts.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
    /// For operators.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// An admitted player.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Admission {
    /// Names the admission in [`Sidecar::leave`] and in kicks.
    pub id: String,
    /// Who the player is.
    pub sub: String,
    /// The session that it plays.
    pub session_id: String,
    /// Fields that this release does not know, and those that the game may want: mode, party, match, team.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What the game server has to hear about: "kick" (disconnect the player of this "id"), "sessions", "status", "players" (the
/// ids of all admissions: disconnect everybody else).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerEvent {
    /// Its kind.
    pub name: String,
    /// Its fields.
    pub data: Value,
}

/// A game server's client of its sidecar, which registers it, sends heartbeats and admits players: the game server needs no
/// secret and no cryptography. Calls wait while the sidecar or the director cannot be reached. A clone is the same client.
#[derive(Clone)]
pub struct Sidecar {
    client: Arc<Client>,
}

impl Sidecar {
    /// A client of the sidecar at a URL; empty: the usual one on this machine. Errors: Invalid.
    pub fn new(url: &str) -> Result<Self, Error> {
        let url = if url.is_empty() { USUAL_URL } else { url };
        let options = Options::new([url])
            .attempt_timeout(Duration::from_secs(15)) // the sidecar waits 10 s for the director
            .backoff(Duration::from_millis(250), Duration::from_secs(2));
        Ok(Self { client: Client::new(options)? })
    }

    /// The server can take players. Call it again when its state is "unhealthy". Returns the status.
    pub async fn ready(&self, about: &ServerOffer) -> Result<Value, Error> {
        self.client.call(Call::post("/ready", about)).await
    }

    /// The server lives. Call it in the game loop, every 5 s, so that a loop that is frozen counts as frozen.
    pub async fn health(&self) -> Result<(), Error> {
        self.client.call(Call::post("/health", &json!({}))).await.map(drop)
    }

    /// How busy the server is: new sessions go to the least loaded.
    pub async fn load(&self, load: f64) -> Result<(), Error> {
        let mut call = Call::post("/load", &json!({ "load": load }));
        call.method = Method::PUT;
        self.client.call(call).await.map(drop)
    }

    /// May the holder of this session token play? It is not repeated after an attempt without an answer, because a token
    /// admits once: let the player get another. Errors: bad_token, wrong_server, replay, seat_gone, no_seat, session_lost,
    /// not_ready.
    pub async fn admit(&self, session_token: &str) -> Result<Admission, Error> {
        let mut call = Call::post("/players", &json!({ "token": session_token }));
        call.may_repeat = false;
        self.client.ask(call).await
    }

    /// The player of an admission is gone. Errors: unknown_player.
    pub async fn leave(&self, id: &str) -> Result<(), Error> {
        self.client.call(Call::new(Method::DELETE, format!("/players/{}", escaped(id)))).await.map(drop)
    }

    /// The admitted players, in "players".
    pub async fn players(&self) -> Result<Value, Error> {
        self.client.call(Call::get("/players")).await
    }

    /// The open sessions with their expected players, in "sessions".
    pub async fn sessions(&self) -> Result<Value, Error> {
        self.client.call(Call::get("/sessions")).await
    }

    /// The match of a session is over.
    pub async fn end_session(&self, id: &str) -> Result<(), Error> {
        self.client.call(Call::new(Method::DELETE, format!("/sessions/{}", escaped(id)))).await.map(drop)
    }

    /// No more players. Returns the status.
    pub async fn drain(&self) -> Result<Value, Error> {
        self.client.call(Call::post("/drain", &json!({}))).await
    }

    /// Players again. Returns the status.
    pub async fn undrain(&self) -> Result<Value, Error> {
        self.client.call(Call::post("/undrain", &json!({}))).await
    }

    /// Drains, waits for the players to leave, deregisters, and ends the sidecar. Returns the status.
    pub async fn shutdown(&self, grace: Duration) -> Result<Value, Error> {
        self.client.call(Call::post("/shutdown", &json!({ "grace": format!("{}ms", grace.as_millis()) }))).await
    }

    /// The status.
    pub async fn status(&self) -> Result<Value, Error> {
        self.client.call(Call::get("/status")).await
    }

    /// What the server has to hear about: see [`ServerEvents::next`].
    pub fn listen(&self) -> ServerEvents {
        ServerEvents { pacer: self.client.pacer(), client: self.client.clone(), stream: None, unseen: Default::default(), is_over: false }
    }
}

/// The events of a sidecar. A new stream begins with the current state, so nothing is missed.
pub struct ServerEvents {
    client: Arc<Client>,
    pacer: Pacer,
    stream: Option<Stream>,
    unseen: std::collections::VecDeque<Event>,
    is_over: bool,
}

impl ServerEvents {
    /// Waits for the next event. `None` comes when the registration is over. Errors: what a retry cannot change.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, Error> {
        while !self.is_over {
            if let Some(event) = self.unseen.pop_front() {
                let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
                self.is_over = event.name == "status" && matches!(data["state"].as_str(), Some("ended" | "superseded"));
                return Ok(Some(ServerEvent { name: event.name, data }));
            }
            self.fetch().await?;
        }
        Ok(None)
    }

    async fn fetch(&mut self) -> Result<(), Error> {
        let found = match &mut self.stream {
            Some(stream) => stream.next().await,
            None => {
                let mut call = Call::get("/events");
                call.longest_event = MAX_ANSWER; // one may have the players of all sessions
                self.client.stream(&call).await.map(|stream| {
                    self.stream = Some(stream);
                    Vec::new()
                })
            }
        };
        match found {
            Ok(events) => {
                if !events.is_empty() {
                    self.pacer.reset();
                }
                self.unseen.extend(events);
            }
            Err(error) if error.is_unavailable() => {
                self.stream = None;
                self.client.pause(&error, &mut self.pacer).await;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
