//! Clients of a [Lattice Director](https://github.com/lattice-director/director): [`Player`] asks for matches and waits
//! in queues, [`GameServer`] registers a game server that a director has started and reports its clients, [`Sidecar`] is
//! for game servers that others run.
//!
//! Every call is asynchronous and runs on tokio; [`blocking`] has the same for programs without a runtime. A call
//! repeats what a retry can change, on the next replica, with pauses that grow, until the director has decided: to end
//! it earlier, drop its future. Neither errors nor their texts contain tokens or handles.
//!
//! ```no_run
//! # async fn play() -> Result<(), lattice_director::Error> {
//! use lattice_director::{MatchRequest, Options, Player, Token};
//!
//! let player = Player::new(Options::new(["https://director.example"]).token(Token::fixed("…")))?;
//! let seat = player.seat(&MatchRequest::new("eu", "duel"), false).await?;
//! println!("connect to {}", seat.endpoint);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "blocking")]
pub mod blocking;
mod cells;
mod client;
mod deployed;
mod error;
mod events;
mod options;
mod player;
mod retry;
mod server;
mod sidecar;
mod ticket;

pub use deployed::Deployment;
pub use error::{Error, ErrorKind, FieldError};
pub use options::{Options, Retry, Token};
pub use player::{Connection, Match, MatchRequest, Netcode, Player, Seat, TicketRequest};
pub use server::{ClientReport, GameServer, RefusedClient, ServerOptions, ServerStatus};
pub use sidecar::{Admission, ServerEvent, ServerEvents, ServerOffer, Sidecar};
pub use ticket::{Estimate, Ticket, TicketStatus, Watch};

/// The version of this crate: that of the director with which it was released.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
