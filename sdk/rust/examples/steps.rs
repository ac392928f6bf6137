//! Runs the steps of the scenarios that the clients in all languages pass: a peer of test/peertest. It connects to the test
//! at DIRECTOR_STEPS, and answers each line with a line.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lattice_director::{Error, ErrorKind, MatchRequest, Options, Player, ServerOffer, Sidecar, Ticket, TicketRequest, TicketStatus, Token};
use serde_json::{json, Value};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A step's failure, as the tests see it.
type Outcome = Result<Value, Value>;

fn describe(error: &Error) -> Value {
    let name = match error.kind {
        ErrorKind::Refused => "DirectorError",
        ErrorKind::Unreachable => "UnreachableError",
        ErrorKind::Unreadable => "UnreadableError",
        _ => "TypeError",
    };
    json!({"name": name, "message": error.to_string(), "call": error.call, "status": error.status, "code": error.code,
        "retryAfter": error.retry_after.map(|d| d.as_secs_f64())})
}

fn aborted() -> Value {
    json!({"name": "AbortError", "message": "aborted", "call": ""})
}

fn value_of<T: serde::Serialize>(found: Result<T, Error>) -> Outcome {
    found.map(|v| json!(v)).map_err(|e| describe(&e))
}

/// What is remembered of a player.
struct Peer {
    player: Player,
    ticket: Mutex<Option<Ticket>>,
    states: Arc<Mutex<Vec<TicketStatus>>>,
    watched: Mutex<Option<JoinHandle<Outcome>>>,
    retries: Arc<Mutex<Vec<Value>>>,
    streams: Arc<Mutex<Vec<Value>>>,
    refreshed: Arc<Mutex<u32>>,
    abort: watch::Sender<bool>,
}

impl Peer {
    fn new(args: &Value) -> Arc<Self> {
        let texts = |name: &str| args[name].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let (tokens, refreshed) = (Arc::new(Mutex::new(texts("tokens"))), Arc::new(Mutex::new(0)));
        let (retries, streams) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let (counted, kept, opened) = (refreshed.clone(), retries.clone(), streams.clone());
        let login = move |refresh: bool| {
            let mut tokens = tokens.lock().unwrap();
            if refresh {
                *counted.lock().unwrap() += 1;
                tokens.remove(0);
            }
            let token = tokens.first().cloned();
            async move { token }
        };
        let options = Options::new(texts("urls"))
            .token(Token::source(login))
            .backoff(Duration::from_millis(250), Duration::from_secs(1))
            .on_retry(move |retry| kept.lock().unwrap().push(describe(&retry.error)))
            .on_stream(move |base, last| opened.lock().unwrap().push(json!({"base": base, "resumed": last.unwrap_or_default()})));
        Arc::new(Self {
            player: Player::new(options).unwrap(),
            ticket: Mutex::default(),
            states: Arc::default(),
            watched: Mutex::default(),
            retries,
            streams,
            refreshed,
            abort: watch::channel(false).0,
        })
    }

    fn ticket(&self) -> Ticket {
        self.ticket.lock().unwrap().clone().expect("a ticket")
    }

    /// Runs a call until the test aborts the player.
    async fn until_abort<T: serde::Serialize>(&self, call: impl Future<Output = Result<T, Error>>) -> Outcome {
        let mut abort = self.abort.subscribe();
        tokio::select! {
            biased;
            _ = abort.wait_for(|is_over| *is_over) => Err(aborted()),
            found = call => value_of(found),
        }
    }

    async fn seat(&self, args: &Value) -> Result<Value, Error> {
        let seat = self.player.seat(&match_of(args), args["awaitServers"].as_bool().unwrap_or_default()).await?;
        let mut fields = json!(seat.session);
        fields["endpoint"] = json!(seat.endpoint);
        fields["session_token"] = json!(seat.connection.session_token);
        Ok(fields)
    }

    async fn resolve(&self, handle: &str) -> Result<Value, Error> {
        let c = self.player.resolve(handle).await?;
        Ok(json!({"endpoint": c.endpoint, "session_token": c.session_token, "session_id": c.session_id}))
    }

    async fn queue(&self, request: &Value) -> Result<TicketStatus, Error> {
        let texts = |name: &str| serde_json::from_value(request[name].clone()).unwrap_or_default();
        let ticket = self.player.queue(&TicketRequest { profiles: texts("profiles"), party: texts("party"), ..Default::default() }).await?;
        let status = ticket.status().expect("what queue received");
        *self.ticket.lock().unwrap() = Some(ticket);
        Ok(status)
    }

    async fn ticket_call(&self, method: &str) -> Result<TicketStatus, Error> {
        let seen = self.states.lock().unwrap().last().and_then(|s| s.match_id.clone()).unwrap_or_default();
        let ticket = self.ticket();
        match method {
            "accept" => ticket.accept(&seen).await,
            "decline" => ticket.decline(&seen).await,
            "cancel" => ticket.cancel().await,
            "next" => ticket.next().await,
            _ => ticket.read().await,
        }
    }

    fn watch(self: &Arc<Self>) {
        self.states.lock().unwrap().clear();
        let (peer, mut states) = (self.clone(), self.ticket().watch());
        *self.watched.lock().unwrap() = Some(tokio::spawn(async move {
            let follow = async {
                while let Some(status) = states.next().await? {
                    peer.states.lock().unwrap().push(status);
                }
                Ok(())
            };
            peer.until_abort(follow).await
        }));
    }

    async fn step(self: &Arc<Self>, step: &str, args: &Value) -> Outcome {
        let text = |name: &str| args[name].as_str().unwrap_or_default();
        match step {
            "matchmake" => self.until_abort(self.player.matchmake(&match_of(args))).await,
            "seat" => self.until_abort(self.seat(args)).await,
            "resolve" => self.until_abort(self.resolve(text("handle"))).await,
            "session" => self.until_abort(self.player.session(text("session"))).await,
            "queue" => self.until_abort(self.queue(&args["request"])).await,
            "ticketCall" => self.until_abort(self.ticket_call(text("method"))).await,
            "ticket" => {
                *self.ticket.lock().unwrap() = Some(self.player.ticket(text("id")));
                Ok(Value::Null)
            }
            "watch" => {
                self.watch();
                Ok(Value::Null)
            }
            "watched" => {
                let running = self.watched.lock().unwrap().take().expect("a watch");
                running.await.expect("a watch that does not panic")
            }
            "states" => Ok(json!(*self.states.lock().unwrap())),
            "retries" => Ok(json!(*self.retries.lock().unwrap())),
            "streams" => Ok(json!(*self.streams.lock().unwrap())),
            "refreshed" => Ok(json!(*self.refreshed.lock().unwrap())),
            "abort" => {
                self.abort.send_replace(true);
                Ok(Value::Null)
            }
            _ => panic!("no step {step}"),
        }
    }
}

fn match_of(args: &Value) -> MatchRequest {
    let request = &args["request"];
    let mut wanted = MatchRequest::new(request["region"].as_str().unwrap(), request["mode"].as_str().unwrap());
    wanted.party = serde_json::from_value(request["party"].clone()).unwrap_or_default();
    wanted.max_players = request["max_players"].as_u64().map(|n| n as u32);
    wanted
}

/// A game server with its sidecar.
struct Server {
    sidecar: Sidecar,
    events: Arc<Mutex<Vec<Value>>>,
    over: Mutex<Option<JoinHandle<Outcome>>>,
}

impl Server {
    fn new(url: &str) -> Arc<Self> {
        let sidecar = Sidecar::new(url).unwrap();
        let (events, mut stream) = (Arc::new(Mutex::new(Vec::new())), sidecar.listen());
        let heard = events.clone();
        let over = tokio::spawn(async move {
            let mut state = Value::Null;
            loop {
                match stream.next().await {
                    Ok(Some(event)) => {
                        if event.name == "status" {
                            state = event.data["state"].clone();
                        }
                        heard.lock().unwrap().push(json!(event));
                    }
                    Ok(None) => return Ok(state),
                    Err(error) => return Err(describe(&error)),
                }
            }
        });
        Arc::new(Self { sidecar, events, over: Mutex::new(Some(over)) })
    }

    async fn call(&self, call: &str, args: &Value) -> Outcome {
        let text = |name: &str| args[name].as_str().unwrap_or_default();
        let s = &self.sidecar;
        match call {
            "ready" => value_of(s.ready(&offer_of(&args["about"])).await),
            "health" => value_of(s.health().await),
            "load" => value_of(s.load(args["load"].as_f64().unwrap()).await),
            "admit" => value_of(s.admit(text("token")).await),
            "leave" => value_of(s.leave(text("id")).await),
            "players" => value_of(s.players().await),
            "sessions" => value_of(s.sessions().await),
            "end" => value_of(s.end_session(text("session")).await),
            "drain" => value_of(s.drain().await),
            "undrain" => value_of(s.undrain().await),
            "shutdown" => value_of(s.shutdown(Duration::ZERO).await),
            _ => panic!("no call {call}"),
        }
    }
}

fn offer_of(about: &Value) -> ServerOffer {
    let text = |name: &str| about[name].as_str().unwrap_or_default().to_owned();
    ServerOffer {
        endpoint: text("endpoint"),
        region: text("region"),
        modes: serde_json::from_value(about["modes"].clone()).unwrap(),
        capacity: about["capacity"].as_u64().map(|n| n as u32),
        boot_id: text("boot_id"),
        ..Default::default()
    }
}

#[derive(Default)]
struct Steps {
    peers: Mutex<HashMap<String, Arc<Peer>>>,
    server: Mutex<Option<Arc<Server>>>,
    background: Mutex<HashMap<String, JoinHandle<Outcome>>>,
}

impl Steps {
    /// Runs a step. In a box, because a step can begin another one.
    fn run(self: Arc<Self>, step: String, args: Value) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        Box::pin(self.run_step(step, args))
    }

    async fn run_step(self: Arc<Self>, step: String, args: Value) -> Outcome {
        let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
        match step.as_str() {
            "player" => {
                self.peers.lock().unwrap().insert(text("player"), Peer::new(&args));
                Ok(Value::Null)
            }
            "begin" => {
                let running = tokio::spawn(self.clone().run(text("step"), args["args"].clone()));
                self.background.lock().unwrap().insert(text("id"), running);
                Ok(Value::Null)
            }
            "end" => {
                let running = self.background.lock().unwrap().remove(&text("id")).expect("a step that was begun");
                running.await.expect("a step that does not panic")
            }
            "server" => {
                *self.server.lock().unwrap() = Some(Server::new(&text("url")));
                Ok(Value::Null)
            }
            "serverEvents" => Ok(json!(*self.server().events.lock().unwrap())),
            "serverCall" => self.server().call(&text("call"), &args["args"]).await,
            "serverOver" => {
                let running = self.server().over.lock().unwrap().take().expect("a server that listens");
                running.await.expect("events that do not panic")
            }
            _ => {
                let peer = self.peers.lock().unwrap()[&text("player")].clone();
                peer.step(&step, &args).await
            }
        }
    }

    fn server(&self) -> Arc<Server> {
        self.server.lock().unwrap().clone().expect("a server")
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::var("DIRECTOR_STEPS").expect("DIRECTOR_STEPS: the address of the test");
    let (read, mut write) = TcpStream::connect(address).await?.into_split();
    let (mut lines, steps) = (BufReader::new(read).lines(), Arc::new(Steps::default()));
    while let Some(line) = lines.next_line().await? {
        let request: Value = serde_json::from_str(&line)?;
        let step = request["step"].as_str().unwrap_or_default().to_owned();
        let answer = match steps.clone().run(step, request["args"].clone()).await {
            Ok(value) => json!({ "value": value }),
            Err(error) => json!({ "error": error }),
        };
        write.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}
