//! What the game's server and client share.

use std::time::Duration;

use bevy::app::ScheduleRunnerPlugin;
use bevy::prelude::*;
use bevy::state::app::StatesPlugin;
use lightyear::prelude::*;

/// How often both run.
const TICK: Duration = Duration::from_millis(10);

/// Settings on which server and client have to agree.
pub fn shared_config() -> SharedConfig {
    SharedConfig {
        server_replication_send_interval: TICK,
        tick: TickConfig { tick_duration: TICK },
        mode: Mode::Separate,
    }
}

/// An app without a window that logs to standard error.
pub fn headless_app() -> App {
    tracing_subscriber::fmt()
        .with_env_filter("info,lightyear=warn,wgpu=error")
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins.set(ScheduleRunnerPlugin::run_loop(TICK)),
        StatesPlugin,
        HierarchyPlugin,
    ));
    app
}
