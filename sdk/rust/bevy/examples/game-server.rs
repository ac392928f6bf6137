//! A headless game server of Lightyear that the director starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bevy::app::ScheduleRunnerPlugin;
use bevy::prelude::*;
use bevy::state::app::StatesPlugin;
use lattice_director_bevy::lattice_director::Deployment;
use lattice_director_bevy::{DirectorServerPlugin, RegistrationOver, netcode_server};
use lightyear::prelude::server::*;
use lightyear::prelude::*;

const TICK: Duration = Duration::from_millis(10);

fn main() {
    let deployment = Deployment::from_env().expect("the environment of a deployment").expect("the director starts this program");
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, deployment.ports["game"]));
    let netcode = netcode_server(&deployment).expect("an app version with connect tokens");
    let mut app = App::new();
    app.add_plugins((MinimalPlugins.set(ScheduleRunnerPlugin::run_loop(TICK)), StatesPlugin));
    app.add_plugins(ServerPlugins { tick_duration: TICK });
    app.add_plugins(DirectorServerPlugin { options: deployment.server });
    app.add_observer(|_: On<RegistrationOver>, mut exit: MessageWriter<AppExit>| {
        exit.write(AppExit::Success);
    });
    let server = app.world_mut().spawn((netcode, LocalAddr(address), ServerUdpIo::default())).id();
    app.add_systems(Startup, move |mut commands: Commands| commands.trigger(Start { entity: server }));
    app.run();
}
