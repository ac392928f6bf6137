//! The calls of a player.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};

use crate::client::{escaped, Call, Client};
use crate::ticket::{Ticket, TicketStatus};
use crate::{Error, Options};

/// Where and what somebody wants to play.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MatchRequest {
    /// Such as "eu".
    pub region: String,
    /// Such as "duel".
    pub mode: String,
    /// The players who are seated together, with the caller among them; empty: the caller alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub party: Vec<String>,
    /// Seats of a new session; `None`: the default of the mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_players: Option<u32>,
}

impl MatchRequest {
    /// A request of the caller alone.
    pub fn new(region: impl Into<String>, mode: impl Into<String>) -> Self {
        Self { region: region.into(), mode: mode.into(), ..Self::default() }
    }
}

/// A session in which the caller has a seat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// A secret that the session's players share: exchange it with [`Player::resolve`].
    pub session_handle: String,
    /// The id of the session, which is no secret.
    pub session_id: String,
    /// The address of its game server.
    #[serde(default)]
    pub endpoint: String,
    /// Its region.
    #[serde(default)]
    pub region: String,
    /// Its mode.
    #[serde(default)]
    pub mode: String,
    /// Taken seats.
    #[serde(default)]
    pub player_count: u32,
    /// All seats.
    #[serde(default)]
    pub max_players: u32,
    /// Fields that this release does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A netcode connect token, with which a player connects to a server of Lightyear or of the reference library.
#[derive(Clone, PartialEq, Deserialize)]
pub struct Netcode {
    /// 2,048 bytes in padded base64. It is secret.
    pub token: String,
    /// Who the server takes the player for, in decimal.
    pub client_id: String,
    /// How the token is laid out: "lightyear-le", "lightyear-be" or "netcode102".
    pub dialect: String,
    /// The address to connect to.
    pub ip: String,
    /// The port to connect to.
    pub port: u16,
    /// The SHA-256 of the server's certificate, in hex with colons.
    #[serde(default)]
    pub cert_digest: Option<String>,
}

/// Lets one player connect: to `endpoint`, with `session_token`, within 2 minutes by default.
#[derive(Clone, PartialEq, Deserialize)]
pub struct Connection {
    /// The address of the game server.
    pub endpoint: String,
    /// Proves to the game server who the player is. It is secret, and admits once.
    pub session_token: String,
    /// The id of the session.
    #[serde(default)]
    pub session_id: String,
    /// For servers with connect tokens.
    #[serde(default)]
    pub netcode: Option<Netcode>,
    /// Fields that this release does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A match, ready to connect to.
#[derive(Debug, Clone, PartialEq)]
pub struct Seat {
    /// The address of the game server.
    pub endpoint: String,
    /// The session.
    pub session: Match,
    /// What the player connects with.
    pub connection: Connection,
}

/// Who or what waits in the queue.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TicketRequest {
    /// The profiles of matchmaking, at least one unless the installation has a default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// The players who are matched together, with the caller among them; empty: the caller alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub party: Vec<String>,
    /// What rules of the profiles ask of the caller.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub attributes: Map<String, Value>,
    /// The same of other players of the party, by player.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub players: BTreeMap<String, Value>,
    /// Milliseconds to regions.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub latencies: BTreeMap<String, f64>,
    /// The room of the realtime lobby whose members wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lobby: Option<String>,
}

macro_rules! hides_secrets {
    ($($name:ident: $($field:ident),+;)+) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))+.finish_non_exhaustive()
            }
        }
    )+};
}
hides_secrets! { Netcode: client_id, dialect, ip, port; Connection: endpoint, session_id; }

/// Makes the calls of one player. Cheap to clone; a clone is the same player.
#[derive(Clone)]
pub struct Player {
    client: Arc<Client>,
}

impl Player {
    /// Makes no call yet. Errors: Invalid, if a URL cannot work.
    pub fn new(options: Options) -> Result<Self, Error> {
        Ok(Self { client: Client::new(options)? })
    }

    /// Takes seats and returns their session. A repeated call before the player connects returns the same seats; a player
    /// who lost the connection gets the running session back. Errors: no_capacity, mode_unknown, region_unknown,
    /// party_conflict, invalid_request, unauthorized.
    pub async fn matchmake(&self, request: &MatchRequest) -> Result<Match, Error> {
        self.client.ask(Call::post("/matchmake", request).idempotent().region(&request.region)).await
    }

    /// Exchanges a session handle for what the caller needs to connect. Each member of a party calls it with the handle that
    /// `matchmake` returned to one of them. Errors: no_seat, session_unknown, session_closed.
    pub async fn resolve(&self, handle: &str) -> Result<Connection, Error> {
        self.resolve_in("", handle).await
    }

    async fn resolve_in(&self, region: &str, handle: &str) -> Result<Connection, Error> {
        self.client.ask(Call::post("/resolve", &json!({ "session_handle": handle })).region(region)).await
    }

    /// Returns a session's current state. Errors: session_unknown, session_closed.
    pub async fn session(&self, id: &str) -> Result<Match, Error> {
        self.client.ask(Call::get(format!("/sessions/{}", escaped(id)))).await
    }

    /// Calls `matchmake` and then `resolve`. It starts again when the session closes or the seat expires between the two,
    /// and waits while there is no capacity; with `await_servers` also for the first game server of a mode.
    pub async fn seat(&self, request: &MatchRequest, await_servers: bool) -> Result<Seat, Error> {
        let mut pacer = self.client.pacer();
        loop {
            let error = match self.try_seat(request).await {
                Ok(seat) => return Ok(seat),
                Err(error) => error,
            };
            let waits = error.has_code(&["no_capacity", "no_seat", "session_unknown", "session_closed"])
                || await_servers && error.has_code(&["mode_unknown", "region_unknown"]);
            if !waits {
                return Err(error);
            }
            if error.servers_starting.is_some() {
                pacer.reset(); // the director forgets players who ask too late
            }
            self.client.pause(&error, &mut pacer).await;
        }
    }

    async fn try_seat(&self, request: &MatchRequest) -> Result<Seat, Error> {
        let session = self.matchmake(request).await?;
        let connection = self.resolve_in(&session.region, &session.session_handle).await?;
        Ok(Seat { endpoint: connection.endpoint.clone(), session, connection })
    }

    /// Puts the caller, or a party, into the queue. The same request again, by any member of the party, returns the same
    /// ticket. Errors: profile_unknown, ticket_exists, party_conflict, party_too_large, cannot_match, invalid_request,
    /// unauthorized.
    pub async fn queue(&self, request: &TicketRequest) -> Result<Ticket, Error> {
        let mut call = Call::post("/tickets", request).idempotent();
        call.creates_ticket = true;
        let status: TicketStatus = self.client.ask(call).await?;
        Ok(Ticket::new(self.client.clone(), status.ticket_id.clone(), Some(status)))
    }

    /// Returns the ticket with an id, for a member of the party that did not create it, or a game that was started again.
    pub fn ticket(&self, id: impl Into<String>) -> Ticket {
        Ticket::new(self.client.clone(), id.into(), None)
    }
}
