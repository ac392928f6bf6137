//! A game server that talks to the director itself.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, Instant};

use crate::client::{Call, Client};
use crate::error::ErrorKind;
use crate::{Error, Options};

type OnRefused = Arc<dyn Fn(&RefusedClient) + Send + Sync>;

/// What a game server registers with.
#[derive(Clone)]
pub struct ServerOptions {
    /// The base URLs of the director's replicas.
    pub urls: Vec<String>,
    /// Its name, which no other game server has; of a deployment the deployment's id.
    pub instance_id: String,
    /// What players dial; empty for servers that the director has deployed: it says it itself.
    pub endpoint: String,
    /// Its region.
    pub region: String,
    /// The modes that it offers.
    pub modes: Vec<String>,
    /// Its seats.
    pub capacity: u32,
    /// Sessions at a time; `None`: as many as the capacity allows.
    pub max_sessions: Option<u32>,
    /// Its version.
    pub version: String,
    /// The SHA-256 of its certificate in hex, with or without colons; empty: it has none.
    pub cert_digest: String,
    /// How often the lease is renewed; 5 s by default.
    pub heartbeat: Duration,
    pub(crate) fleet_token: String,
    pub(crate) on_refused: Option<OnRefused>,
}

impl ServerOptions {
    /// Options without region, modes and capacity. The token is secret.
    pub fn new(urls: Vec<String>, instance_id: impl Into<String>, fleet_token: impl Into<String>) -> Self {
        Self {
            urls,
            instance_id: instance_id.into(),
            endpoint: String::new(),
            region: String::new(),
            modes: Vec::new(),
            capacity: 0,
            max_sessions: None,
            version: String::new(),
            cert_digest: String::new(),
            heartbeat: Duration::from_secs(5),
            fleet_token: fleet_token.into(),
            on_refused: None,
        }
    }

    /// Is called for each connected client that the director does not know, or not any more: disconnect it. It comes from
    /// heartbeats; [`GameServer::report_clients`] returns its own.
    pub fn on_refused(mut self, call: impl Fn(&RefusedClient) + Send + Sync + 'static) -> Self {
        self.on_refused = Some(Arc::new(call));
        self
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions").field("instance_id", &self.instance_id).field("region", &self.region).finish_non_exhaustive()
    }
}

/// A game server as the director knows it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct ServerStatus {
    /// "registered" or "alive"; "starting": it gets no players yet.
    #[serde(default)]
    pub status: String,
    /// Seats for new sessions.
    #[serde(default)]
    pub available: u32,
    /// Of deployments: what players dial; empty until it is ready.
    #[serde(default)]
    pub endpoint: String,
    /// Of deployments: "running", or "stopped": it gets no more players, and should exit when its sessions have ended.
    #[serde(default)]
    pub desired: String,
    #[serde(default)]
    incarnation: Option<String>,
}

/// A connected client that has no seat.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RefusedClient {
    /// The client id of its connect token, in decimal.
    pub client_id: String,
    /// "unknown": its token is not of this server; "replay": it has left before, or its player has connected again;
    /// "seat_gone": the session is full or over.
    pub result: String,
}

/// The answer to a list of clients.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct ClientReport {
    /// False: a newer list came first.
    #[serde(default)]
    pub applied: bool,
    /// Whom to disconnect.
    #[serde(default)]
    pub refused: Vec<RefusedClient>,
}

#[derive(Serialize)]
struct Registration<'a> {
    instance_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    endpoint: &'a str,
    region: &'a str,
    modes: &'a [String],
    capacity: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_sessions: Option<u32>,
    version: &'a str,
    cert_digest: &'a str,
    boot_id: &'a str,
    reports_seats: bool,
}

/// What the heartbeats and the calls of a game server share.
struct Server {
    client: Arc<Client>,
    options: ServerOptions,
    boot_id: String,
    state: Mutex<State>,
    over: watch::Sender<Option<Error>>,
}

#[derive(Default)]
struct State {
    incarnation: String,
    status: ServerStatus,
    clients: Option<Vec<u64>>, // None: it reports none
    seq: u64,
}

/// The clients at one time. A later list has a higher number.
#[derive(Serialize)]
struct ClientList {
    seq: u64,
    clients: Vec<String>,
}

impl State {
    fn next_list(&mut self, clients: Vec<u64>) -> ClientList {
        self.seq += 1;
        let list = ClientList { seq: self.seq, clients: clients.iter().map(u64::to_string).collect() };
        self.clients = Some(clients);
        list
    }

    /// The last list with a new number. Both are read together: a heartbeat that numbered a list which has been replaced
    /// meanwhile would free the seats of players who have joined since.
    fn repeated_list(&mut self) -> Option<ClientList> {
        self.clients.take().map(|clients| self.next_list(clients))
    }
}

impl Server {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn call(&self, path: &str, body: &Value) -> Call {
        let call = Call::post(path, body).region(&self.options.region);
        call.header("X-Fleet-Token", self.options.fleet_token.clone())
    }

    /// The fields that name the instance, and more.
    fn named(&self, mut more: Value) -> Value {
        more["instance_id"] = json!(self.options.instance_id);
        more["incarnation"] = json!(self.state().incarnation);
        more
    }

    async fn register(&self) -> Result<(), Error> {
        let o = &self.options;
        let registration = Registration {
            instance_id: &o.instance_id,
            endpoint: &o.endpoint,
            region: &o.region,
            modes: &o.modes,
            capacity: o.capacity,
            max_sessions: o.max_sessions,
            version: &o.version,
            cert_digest: &o.cert_digest,
            boot_id: &self.boot_id,
            reports_seats: true,
        };
        let call = self.call("/fleet/register", &json!(registration));
        let status: ServerStatus = self.client.ask(call).await?;
        let mut state = self.state();
        state.incarnation = status.incarnation.clone().unwrap_or_default();
        state.status = status;
        Ok(())
    }

    /// Renews the lease, and repeats the list of clients: seats change by themselves.
    async fn beat(&self) -> Result<(), Error> {
        let call = self.call("/fleet/heartbeat", &self.named(json!({})));
        match self.client.ask::<ServerStatus>(call).await {
            Ok(status) => self.state().status = status,
            Err(error) if error.status == 404 => self.register().await?, // the lease had expired
            Err(error) => return Err(error),
        }
        let Some(list) = self.state().repeated_list() else { return Ok(()) };
        let report = self.report(list).await?;
        if let Some(tell) = &self.options.on_refused {
            report.refused.iter().for_each(|client| tell(client));
        }
        Ok(())
    }

    async fn report(&self, list: ClientList) -> Result<ClientReport, Error> {
        self.client.ask(self.call("/fleet/clients", &self.named(json!(list)))).await
    }

    async fn keep_alive(self: Arc<Self>) {
        let mut next = Instant::now() + self.options.heartbeat;
        loop {
            sleep_until(next).await;
            next = Instant::now() + self.options.heartbeat;
            match self.beat().await {
                Err(error) if ends_registration(&error) => {
                    let _ = self.over.send(Some(error));
                    return;
                }
                _ => {} // the next heartbeat tries again
            }
        }
    }
}

/// Another process has taken its place, its deployment is over, or its credential is not accepted.
fn ends_registration(error: &Error) -> bool {
    error.kind == ErrorKind::Refused && matches!(error.status, 401 | 403 | 409 | 410)
}

/// A registered game server, whose lease a background task renews. Dropping it ends the heartbeats: the lease expires.
pub struct GameServer {
    server: Arc<Server>,
    heartbeats: JoinHandle<()>,
}

impl GameServer {
    /// Registers the game server, and starts its heartbeats on the current runtime. It waits while the director cannot be
    /// reached. Errors: Invalid; deployment_over, outside_deployment, unauthorized, invalid_request.
    pub async fn start(options: ServerOptions) -> Result<Self, Error> {
        let client = Client::new(Options::new(options.urls.clone()))?;
        let boot_id: String = std::iter::repeat_with(|| fastrand::digit(16)).take(32).collect();
        let server = Arc::new(Server { client, options, boot_id, state: Default::default(), over: watch::channel(None).0 });
        server.register().await?;
        let heartbeats = tokio::spawn(server.clone().keep_alive());
        Ok(Self { server, heartbeats })
    }

    /// The last answer of the director.
    pub fn status(&self) -> ServerStatus {
        self.server.state().status.clone()
    }

    /// Reports all clients who are connected, by the client ids of their connect tokens: call it when that changes. Players
    /// of new ones are seated, seats of missing ones become free, and the answer names those to disconnect. Heartbeats repeat
    /// the last list.
    pub async fn report_clients(&self, clients: impl IntoIterator<Item = u64>) -> Result<ClientReport, Error> {
        let list = self.server.state().next_list(clients.into_iter().collect());
        self.server.report(list).await
    }

    /// No more players, or players again.
    pub async fn drain(&self, drain: bool) -> Result<(), Error> {
        let call = self.server.call("/fleet/drain", &self.server.named(json!({ "drain": drain })));
        self.server.client.call(call).await.map(drop)
    }

    /// Waits until the registration is over by itself: the deployment has ended, or another process has taken its place.
    pub async fn over(&self) -> Error {
        let mut over = self.server.over.subscribe();
        let error = over.wait_for(Option::is_some).await.ok().and_then(|e| e.clone());
        error.unwrap_or_else(|| Error::invalid("", "the game server was closed"))
    }

    /// Ends the registration: its sessions close.
    pub async fn close(self) -> Result<(), Error> {
        self.heartbeats.abort();
        let call = self.server.call("/fleet/deregister", &self.server.named(json!({})));
        self.server.client.call(call).await.map(drop)
    }
}

impl Drop for GameServer {
    fn drop(&mut self) {
        self.heartbeats.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_repeats_the_last_list() {
        let mut state = State::default();
        assert!(state.repeated_list().is_none(), "nothing was reported: the list of no clients would free all seats");
        state.next_list(vec![7]);
        state.next_list(vec![7, 8]);
        let list = state.repeated_list().unwrap();
        assert_eq!((list.seq, list.clients), (3, vec!["7".to_owned(), "8".to_owned()]));
        assert_eq!(state.repeated_list().unwrap().seq, 4);
    }
}
