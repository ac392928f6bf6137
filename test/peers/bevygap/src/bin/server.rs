//! A game server whose players come through bevygap's plugin. It prints a line for each event that the test waits for.

use std::net::{Ipv4Addr, SocketAddr};

use bevy::prelude::*;
use bevygap_peer::{headless_app, shared_config};
use bevygap_server_plugin::prelude::*;
use lightyear::prelude::server::*;
use lightyear::prelude::*;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// Reads the key as Lightyear's games do: "[1, 2, …]".
fn private_key() -> [u8; 32] {
    let bytes: Vec<u8> = variable("LIGHTYEAR_PRIVATE_KEY")
        .trim_matches(['[', ']'])
        .split(',')
        .map(|n| n.trim().parse().expect("a byte of the private key"))
        .collect();
    bytes.try_into().expect("a private key of 32 bytes")
}

fn server_config() -> ServerConfig {
    let port = variable("LATTICE_PORT_GAME").parse().expect("a port");
    let transport = ServerTransport::WebTransportServer {
        server_addr: SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        certificate: Identity::self_signed(["localhost", "127.0.0.1"]).expect("a certificate"),
    };
    let netcode = NetcodeConfig::default()
        .with_protocol_id(variable("LATTICE_PROTOCOL_ID").parse().expect("a protocol id"))
        .with_key(private_key());
    ServerConfig {
        shared: shared_config(),
        net: vec![NetConfig::Netcode { config: netcode, io: IoConfig::from_transport(transport) }],
        replication: ReplicationConfig {
            send_interval: shared_config().server_replication_send_interval,
            ..default()
        },
        ..default()
    }
}

fn main() {
    let mut app = headless_app();
    app.add_plugins(ServerPlugins::new(server_config()));
    app.add_plugins(BevygapServerPlugin);
    // The certificate's digest is known to the director by now.
    app.add_observer(|_: Trigger<BevygapReady>, mut commands: Commands| {
        println!("ready");
        commands.start_server();
    });
    app.add_observer(|event: Trigger<ConnectEvent>| println!("joined {}", event.event().client_id.to_bits()));
    app.add_observer(|event: Trigger<DisconnectEvent>| println!("left {}", event.event().client_id.to_bits()));
    app.run();
}
