//! Where the calls run.

use std::sync::{Mutex, mpsc};

use bevy_ecs::prelude::*;
use tokio::runtime::{Builder, Runtime};

/// Runs the calls of a plugin on a thread of its own.
pub(crate) fn new_runtime() -> Runtime {
    let built = Builder::new_multi_thread().worker_threads(1).thread_name("lattice-director").enable_all().build();
    built.expect("a thread for the director's calls")
}

/// What calls send to the game loop.
#[derive(Resource)]
pub(crate) struct Inbox<T: Send + 'static>(Mutex<mpsc::Receiver<T>>);

impl<T: Send + 'static> Inbox<T> {
    pub(crate) fn new() -> (mpsc::Sender<T>, Self) {
        let (send, receive) = mpsc::channel();
        (send, Self(Mutex::new(receive)))
    }

    /// Takes all that has come.
    pub(crate) fn drain(&self) -> Vec<T> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).try_iter().collect()
    }
}
