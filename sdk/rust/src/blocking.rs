//! The same clients for programs without an asynchronous runtime. Calls block; a thread of their own makes the requests,
//! and renews the leases of game servers.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::{
    Admission, ClientReport, Connection, Error, Match, MatchRequest, Options, Seat, ServerEvent, ServerOffer, ServerOptions,
    ServerStatus, TicketRequest, TicketStatus,
};

/// Runs the calls of one client.
#[derive(Clone)]
struct Runner(Arc<Runtime>);

impl Runner {
    fn new() -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("lattice-director").enable_all().build();
        runtime.map(|runtime| Self(Arc::new(runtime))).map_err(|_| Error::invalid("", "no thread can be started"))
    }

    fn run<F: Future>(&self, call: F) -> F::Output {
        self.0.block_on(call)
    }
}

/// See [`crate::Player`].
#[derive(Clone)]
pub struct Player(crate::Player, Runner);

impl Player {
    /// See [`crate::Player::new`].
    pub fn new(options: Options) -> Result<Self, Error> {
        Ok(Self(crate::Player::new(options)?, Runner::new()?))
    }

    /// See [`crate::Player::matchmake`].
    pub fn matchmake(&self, request: &MatchRequest) -> Result<Match, Error> {
        self.1.run(self.0.matchmake(request))
    }

    /// See [`crate::Player::resolve`].
    pub fn resolve(&self, handle: &str) -> Result<Connection, Error> {
        self.1.run(self.0.resolve(handle))
    }

    /// See [`crate::Player::session`].
    pub fn session(&self, id: &str) -> Result<Match, Error> {
        self.1.run(self.0.session(id))
    }

    /// See [`crate::Player::seat`].
    pub fn seat(&self, request: &MatchRequest, await_servers: bool) -> Result<Seat, Error> {
        self.1.run(self.0.seat(request, await_servers))
    }

    /// See [`crate::Player::queue`].
    pub fn queue(&self, request: &TicketRequest) -> Result<Ticket, Error> {
        Ok(Ticket(self.1.run(self.0.queue(request))?, self.1.clone()))
    }

    /// See [`crate::Player::ticket`].
    pub fn ticket(&self, id: impl Into<String>) -> Ticket {
        Ticket(self.0.ticket(id), self.1.clone())
    }
}

/// See [`crate::Ticket`].
#[derive(Clone)]
pub struct Ticket(crate::Ticket, Runner);

impl Ticket {
    /// See [`crate::Ticket::id`].
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// See [`crate::Ticket::status`].
    pub fn status(&self) -> Option<TicketStatus> {
        self.0.status()
    }

    /// See [`crate::Ticket::read`].
    pub fn read(&self) -> Result<TicketStatus, Error> {
        self.1.run(self.0.read())
    }

    /// See [`crate::Ticket::next`].
    pub fn next(&self) -> Result<TicketStatus, Error> {
        self.1.run(self.0.next())
    }

    /// See [`crate::Ticket::cancel`].
    pub fn cancel(&self) -> Result<TicketStatus, Error> {
        self.1.run(self.0.cancel())
    }

    /// See [`crate::Ticket::accept`].
    pub fn accept(&self, match_id: &str) -> Result<TicketStatus, Error> {
        self.1.run(self.0.accept(match_id))
    }

    /// See [`crate::Ticket::decline`].
    pub fn decline(&self, match_id: &str) -> Result<TicketStatus, Error> {
        self.1.run(self.0.decline(match_id))
    }

    /// The states of the ticket: see [`crate::Watch::next`]. The iterator ends after a final state, or after an error.
    pub fn watch(&self) -> impl Iterator<Item = Result<TicketStatus, Error>> {
        let (mut watch, runner) = (self.0.watch(), self.1.clone());
        std::iter::from_fn(move || runner.run(watch.next()).transpose())
    }
}

/// See [`crate::GameServer`].
pub struct GameServer(crate::GameServer, Runner);

impl GameServer {
    /// See [`crate::GameServer::start`].
    pub fn start(options: ServerOptions) -> Result<Self, Error> {
        let runner = Runner::new()?;
        Ok(Self(runner.run(crate::GameServer::start(options))?, runner))
    }

    /// See [`crate::GameServer::status`].
    pub fn status(&self) -> ServerStatus {
        self.0.status()
    }

    /// See [`crate::GameServer::report_clients`].
    pub fn report_clients(&self, clients: impl IntoIterator<Item = u64>) -> Result<ClientReport, Error> {
        self.1.run(self.0.report_clients(clients))
    }

    /// See [`crate::GameServer::drain`].
    pub fn drain(&self, drain: bool) -> Result<(), Error> {
        self.1.run(self.0.drain(drain))
    }

    /// See [`crate::GameServer::over`].
    pub fn over(&self) -> Error {
        self.1.run(self.0.over())
    }

    /// See [`crate::GameServer::close`].
    pub fn close(self) -> Result<(), Error> {
        let Self(server, runner) = self;
        runner.run(server.close())
    }
}

/// See [`crate::Sidecar`].
#[derive(Clone)]
pub struct Sidecar(crate::Sidecar, Runner);

impl Sidecar {
    /// See [`crate::Sidecar::new`].
    pub fn new(url: &str) -> Result<Self, Error> {
        Ok(Self(crate::Sidecar::new(url)?, Runner::new()?))
    }

    /// See [`crate::Sidecar::ready`].
    pub fn ready(&self, about: &ServerOffer) -> Result<Value, Error> {
        self.1.run(self.0.ready(about))
    }

    /// See [`crate::Sidecar::health`].
    pub fn health(&self) -> Result<(), Error> {
        self.1.run(self.0.health())
    }

    /// See [`crate::Sidecar::load`].
    pub fn load(&self, load: f64) -> Result<(), Error> {
        self.1.run(self.0.load(load))
    }

    /// See [`crate::Sidecar::admit`].
    pub fn admit(&self, session_token: &str) -> Result<Admission, Error> {
        self.1.run(self.0.admit(session_token))
    }

    /// See [`crate::Sidecar::leave`].
    pub fn leave(&self, id: &str) -> Result<(), Error> {
        self.1.run(self.0.leave(id))
    }

    /// See [`crate::Sidecar::players`].
    pub fn players(&self) -> Result<Value, Error> {
        self.1.run(self.0.players())
    }

    /// See [`crate::Sidecar::sessions`].
    pub fn sessions(&self) -> Result<Value, Error> {
        self.1.run(self.0.sessions())
    }

    /// See [`crate::Sidecar::end_session`].
    pub fn end_session(&self, id: &str) -> Result<(), Error> {
        self.1.run(self.0.end_session(id))
    }

    /// See [`crate::Sidecar::drain`].
    pub fn drain(&self) -> Result<Value, Error> {
        self.1.run(self.0.drain())
    }

    /// See [`crate::Sidecar::undrain`].
    pub fn undrain(&self) -> Result<Value, Error> {
        self.1.run(self.0.undrain())
    }

    /// See [`crate::Sidecar::shutdown`].
    pub fn shutdown(&self, grace: Duration) -> Result<Value, Error> {
        self.1.run(self.0.shutdown(grace))
    }

    /// See [`crate::Sidecar::status`].
    pub fn status(&self) -> Result<Value, Error> {
        self.1.run(self.0.status())
    }

    /// What the server has to hear about: see [`crate::ServerEvents::next`].
    pub fn listen(&self) -> impl Iterator<Item = Result<ServerEvent, Error>> {
        let (mut events, runner) = (self.0.listen(), self.1.clone());
        std::iter::from_fn(move || runner.run(events.next()).transpose())
    }
}
