//! A player's client with bevygap's plugin: it asks the director for a server, connects, and prints what happens. It
//! leaves when its standard input ends.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use bevy::prelude::*;
use bevygap_client_plugin::prelude::*;
use bevygap_peer::{headless_app, shared_config};
use lightyear::client::events::{ConnectEvent, DisconnectEvent};
use lightyear::prelude::client::*;
use lightyear::prelude::*;

static HAS_TO_LEAVE: AtomicBool = AtomicBool::new(false);

fn client_config() -> ClientConfig {
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let transport = ClientTransport::WebTransportClient { client_addr: any, server_addr: any };
    ClientConfig {
        shared: shared_config(),
        net: client::NetConfig::Netcode {
            auth: Authentication::None,
            config: client::NetcodeConfig::default(),
            io: client::IoConfig::from_transport(transport),
        },
        ..default()
    }
}

fn print_state(state: Res<State<BevygapClientState>>) {
    println!("state {:?}", state.get());
}

fn leave(mut has_left: Local<u32>, mut commands: Commands, mut exit: EventWriter<AppExit>) {
    if !HAS_TO_LEAVE.load(Ordering::Relaxed) {
        return;
    }
    if *has_left == 0 {
        commands.disconnect_client();
    }
    *has_left += 1;
    if *has_left == 50 { // the packets of the farewell are sent by now
        exit.send(AppExit::Success);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |name| arguments.next().unwrap_or_else(|| panic!("usage: client URL GAME VERSION: no {name}"));
    let config = BevygapClientConfig {
        matchmaker_url: argument("URL"),
        game_name: argument("GAME"),
        game_version: argument("VERSION"),
        fake_client_ip: None,
    };
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        HAS_TO_LEAVE.store(true, Ordering::Relaxed);
    });
    let mut app = headless_app();
    app.add_plugins(ClientPlugins::new(client_config()));
    app.add_plugins(BevygapClientPlugin);
    app.insert_resource(config);
    app.add_systems(Startup, |mut commands: Commands| commands.bevygap_connect_client());
    app.add_systems(Update, (print_state.run_if(state_changed::<BevygapClientState>), leave));
    app.add_observer(|event: Trigger<ConnectEvent>| println!("connected {}", event.event().client_id().to_bits()));
    app.add_observer(|_: Trigger<DisconnectEvent>| println!("disconnected"));
    app.run();
}
