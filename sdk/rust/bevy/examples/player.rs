//! A player without a window: it asks for a seat, connects with Lightyear, and prints what happens. It leaves when its
//! standard input ends. DIRECTOR_URL and ACCESS_TOKEN say where and who; the arguments are region and mode.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bevy::app::ScheduleRunnerPlugin;
use bevy::prelude::*;
use bevy::state::app::StatesPlugin;
use lattice_director_bevy::lattice_director::{MatchRequest, Options, Token};
use lattice_director_bevy::{DirectorClientPlugin, JoinFailed, JoinMatch, Seated, netcode_client};
use lightyear::prelude::client::*;
use lightyear::prelude::*;

const TICK: Duration = Duration::from_millis(10);
static HAS_TO_LEAVE: AtomicBool = AtomicBool::new(false);

fn connect(seated: On<Seated>, mut commands: Commands) {
    let connection = &seated.event().0.connection;
    let (client, server) = netcode_client(connection, NetcodeConfig::default()).expect("a connect token");
    println!("seated {}", connection.netcode.as_ref().map_or("", |n| n.client_id.as_str()));
    let here = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let entity = commands.spawn((client, UdpIo::default(), LocalAddr(here), PeerAddr(server))).id();
    commands.trigger(Connect { entity });
}

fn leave(clients: Query<Entity, With<Connected>>, mut frames: Local<u32>, mut commands: Commands, mut exit: MessageWriter<AppExit>) {
    if !HAS_TO_LEAVE.load(Ordering::Relaxed) {
        return;
    }
    if *frames == 0 {
        clients.iter().for_each(|entity| commands.trigger(Disconnect { entity }));
    }
    *frames += 1;
    if *frames == 50 {
        exit.write(AppExit::Success); // the packets of the farewell are sent by now
    }
}

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let mut arguments = std::env::args().skip(1);
    let mut argument = |name: &str| arguments.next().unwrap_or_else(|| panic!("usage: player REGION MODE: no {name}"));
    let request = MatchRequest::new(argument("REGION"), argument("MODE"));
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        HAS_TO_LEAVE.store(true, Ordering::Relaxed);
    });
    let mut app = App::new();
    app.add_plugins((MinimalPlugins.set(ScheduleRunnerPlugin::run_loop(TICK)), StatesPlugin));
    app.add_plugins(ClientPlugins { tick_duration: TICK });
    let options = Options::new([variable("DIRECTOR_URL")]).token(Token::fixed(variable("ACCESS_TOKEN")));
    app.add_plugins(DirectorClientPlugin { options });
    app.add_observer(connect);
    app.add_observer(|failed: On<JoinFailed>| println!("failed {}", failed.event().0));
    app.add_observer(|_: On<Add, Connected>| println!("connected"));
    app.add_observer(|_: On<Remove, Connected>| println!("disconnected"));
    app.add_systems(Startup, move |mut commands: Commands| commands.trigger(JoinMatch(request.clone())));
    app.add_systems(Update, leave);
    app.run();
}
