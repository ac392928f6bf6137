//! Bevy plugins for a [Lattice Director](https://github.com/lattice-director/director): [`DirectorServerPlugin`] for game
//! servers that it starts, [`DirectorClientPlugin`] for players. Both are for Lightyear with netcode connect tokens, over
//! any of its transports; the calls run beside the game loop, on threads of their own.

#[cfg(feature = "client")]
mod client;
mod runtime;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use client::{DirectorClientPlugin, JoinFailed, JoinMatch, Seated, WrongToken, netcode_client};
pub use lattice_director;
#[cfg(feature = "server")]
pub use server::{DirectorServerPlugin, Registered, RegistrationOver, netcode_server};
