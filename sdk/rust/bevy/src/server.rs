//! A game server.

use std::collections::BTreeSet;
use std::sync::mpsc;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use lattice_director::{Deployment, Error, GameServer, ServerOptions, ServerStatus};
use lightyear::netcode::NetcodeServer;
use lightyear::prelude::server::{ClientOf, NetcodeConfig};
use lightyear::connection::client::Disconnecting;
use lightyear::prelude::{Connected, PeerId, RemoteId};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::runtime::{Inbox, new_runtime};

/// Registers the game server when the app starts, renews its lease, and reports who is connected. Clients whom the director
/// does not know, or not any more, are disconnected.
///
/// A server whose app version requires a digest gets players once [`ServerOptions::cert_digest`] is set.
pub struct DirectorServerPlugin {
    /// What it registers with: usually [`Deployment::server`].
    pub options: ServerOptions,
}

/// The director has accepted the registration.
#[derive(Event, Debug, Clone)]
pub struct Registered(
    /// Its answer.
    pub ServerStatus,
);

/// The director does not know the game server any more: its deployment is over, or it may not register. Exit.
#[derive(Event, Debug, Clone)]
pub struct RegistrationOver(
    /// Why.
    pub Error,
);

/// The netcode settings of a server that the director has started, or `None` if its app version has no connect tokens.
pub fn netcode_server(deployment: &Deployment) -> Option<NetcodeServer> {
    let key = deployment.netcode_key?;
    Some(NetcodeServer::new(NetcodeConfig::default().with_protocol_id(deployment.protocol_id).with_key(key)))
}

enum Message {
    Registered(ServerStatus),
    Over(Error),
    Refused(u64),
}

/// Who is connected.
#[derive(Resource)]
struct Clients(watch::Sender<BTreeSet<u64>>);

/// Keeps the calls running for as long as the app lives.
#[derive(Resource)]
struct ServerRuntime(#[expect(dead_code, reason = "it is dropped with the app")] Runtime);

impl Plugin for DirectorServerPlugin {
    fn build(&self, app: &mut App) {
        let (clients, connected) = watch::channel(BTreeSet::new());
        let (send, inbox) = Inbox::<Message>::new();
        let runtime = new_runtime();
        runtime.spawn(serve(self.options.clone(), connected, send));
        app.insert_resource(Clients(clients)).insert_resource(inbox).insert_resource(ServerRuntime(runtime));
        app.add_observer(note_joined).add_observer(note_left);
        app.add_systems(Update, hear);
    }
}

async fn serve(options: ServerOptions, mut connected: watch::Receiver<BTreeSet<u64>>, send: mpsc::Sender<Message>) {
    let refused = send.clone();
    let options = options.on_refused(move |client| tell_refused(&refused, &client.client_id));
    let server = match GameServer::start(options).await {
        Ok(server) => server,
        Err(error) => return drop(send.send(Message::Over(error))),
    };
    let _ = send.send(Message::Registered(server.status()));
    loop {
        let clients = connected.borrow_and_update().clone();
        tokio::select! {
            error = server.over() => return drop(send.send(Message::Over(error))),
            report = server.report_clients(clients) => {
                // What could not be reported is in the list of the next heartbeat.
                for client in report.map(|r| r.refused).unwrap_or_default() {
                    tell_refused(&send, &client.client_id);
                }
            }
        }
        tokio::select! {
            error = server.over() => return drop(send.send(Message::Over(error))),
            changed = connected.changed() => if changed.is_err() { return },
        }
    }
}

fn tell_refused(send: &mpsc::Sender<Message>, client_id: &str) {
    if let Ok(id) = client_id.parse() {
        let _ = send.send(Message::Refused(id));
    }
}

fn client_of(remote: &RemoteId) -> Option<u64> {
    match remote.0 {
        PeerId::Netcode(id) => Some(id),
        _ => None,
    }
}

fn note_joined(event: On<Add, Connected>, remotes: Query<&RemoteId, With<ClientOf>>, clients: Res<Clients>) {
    if let Some(id) = remotes.get(event.entity).ok().and_then(client_of) {
        clients.0.send_modify(|all| {
            all.insert(id);
        });
    }
}

fn note_left(event: On<Remove, Connected>, remotes: Query<&RemoteId, With<ClientOf>>, clients: Res<Clients>) {
    if let Some(id) = remotes.get(event.entity).ok().and_then(client_of) {
        clients.0.send_modify(|all| {
            all.remove(&id);
        });
    }
}

/// Passes on what the director has said.
fn hear(inbox: Res<Inbox<Message>>, remotes: Query<(Entity, &RemoteId), (With<ClientOf>, With<Connected>)>, mut commands: Commands) {
    for message in inbox.drain() {
        match message {
            Message::Registered(status) => commands.trigger(Registered(status)),
            Message::Over(error) => commands.trigger(RegistrationOver(error)),
            Message::Refused(id) => {
                for (entity, _) in remotes.iter().filter(|(_, remote)| client_of(remote) == Some(id)) {
                    // Netcode servers do not serve `Disconnect`. The client notices within its timeout.
                    commands.entity(entity).insert(Disconnecting);
                }
            }
        }
    }
}
