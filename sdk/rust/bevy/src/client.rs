//! A player.

use std::fmt;
use std::net::SocketAddr;
use std::sync::mpsc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use lattice_director::{Connection, Error, MatchRequest, Options, Player, Seat};
use lightyear::netcode::{ConnectToken, NetcodeClient};
use lightyear::prelude::Authentication;
use lightyear::prelude::client::NetcodeConfig;
use tokio::runtime::Runtime;

use crate::runtime::{Inbox, new_runtime};

/// Asks for matches: trigger [`JoinMatch`], and observe [`Seated`] and [`JoinFailed`].
pub struct DirectorClientPlugin {
    /// Where the director is, and the player's access token.
    pub options: Options,
}

/// Asks the director for a seat. It waits while there is no capacity; another one replaces it.
#[derive(Event, Debug, Clone)]
pub struct JoinMatch(
    /// Where and what to play.
    pub MatchRequest,
);

/// The player has a seat: connect with [`netcode_client`].
#[derive(Event, Debug, Clone)]
pub struct Seated(
    /// The seat.
    pub Seat,
);

/// The director has refused the request.
#[derive(Event, Debug, Clone)]
pub struct JoinFailed(
    /// Why.
    pub Error,
);

/// A seat without a connect token that this release of Lightyear can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongToken {
    /// The server of the session takes no connect tokens.
    Missing,
    /// The token has another layout: the app version needs the dialect "lightyear-be".
    Dialect,
    /// The token, or the address of its server, cannot be read.
    Unreadable,
}

impl fmt::Display for WrongToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "the server of the session takes no connect tokens",
            Self::Dialect => "the connect token has another dialect than lightyear-be",
            Self::Unreadable => "the connect token cannot be read",
        })
    }
}

impl std::error::Error for WrongToken {}

/// The dialect of connect tokens that this release of Lightyear reads.
const DIALECT: &str = "lightyear-be";

/// Makes the client of a connection, and the address of its server. Spawn the client with the transport of the game, such as
/// `UdpIo`, and trigger `Connect` before the token expires, within 45 s by default.
pub fn netcode_client(connection: &Connection, config: NetcodeConfig) -> Result<(NetcodeClient, SocketAddr), WrongToken> {
    let netcode = connection.netcode.as_ref().ok_or(WrongToken::Missing)?;
    if netcode.dialect != DIALECT {
        return Err(WrongToken::Dialect);
    }
    let bytes = STANDARD.decode(&netcode.token).map_err(|_| WrongToken::Unreadable)?;
    let token = ConnectToken::try_from_bytes(&bytes).map_err(|_| WrongToken::Unreadable)?;
    let address = netcode.ip.parse().map_err(|_| WrongToken::Unreadable)?;
    let client = NetcodeClient::new(Authentication::Token(token), config).map_err(|_| WrongToken::Unreadable)?;
    Ok((client, SocketAddr::new(address, netcode.port)))
}

/// The player, and the request that waits.
#[derive(Resource)]
struct Seeker {
    player: Player,
    runtime: Runtime,
    send: mpsc::Sender<Result<Seat, Error>>,
    waiting: Option<tokio::task::JoinHandle<()>>,
}

impl Plugin for DirectorClientPlugin {
    fn build(&self, app: &mut App) {
        let player = Player::new(self.options.clone()).expect("options with which the director can be reached");
        let (send, inbox) = Inbox::<Result<Seat, Error>>::new();
        app.insert_resource(Seeker { player, runtime: new_runtime(), send, waiting: None }).insert_resource(inbox);
        app.add_observer(join).add_systems(Update, hear);
    }
}

fn join(event: On<JoinMatch>, mut seeker: ResMut<Seeker>) {
    let (player, send, request) = (seeker.player.clone(), seeker.send.clone(), event.event().0.clone());
    let waiting = seeker.runtime.spawn(async move {
        let _ = send.send(player.seat(&request, true).await);
    });
    if let Some(replaced) = seeker.waiting.replace(waiting) {
        replaced.abort();
    }
}

fn hear(inbox: Res<Inbox<Result<Seat, Error>>>, mut commands: Commands) {
    for answer in inbox.drain() {
        match answer {
            Ok(seat) => commands.trigger(Seated(seat)),
            Err(error) => commands.trigger(JoinFailed(error)),
        }
    }
}
