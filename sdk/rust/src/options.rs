//! How a client reaches the director.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::Error;

type TokenFuture = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// The access token of a player, which the game's own login issued.
#[derive(Clone)]
pub enum Token {
    /// A text, for as long as it is valid.
    Fixed(String),
    /// A function that returns the token, `None` if there is none: the call then fails. With `true` the director has just
    /// refused the token: get a new one.
    Source(Arc<dyn Fn(bool) -> TokenFuture + Send + Sync>),
}

impl Token {
    /// A token that does not change.
    pub fn fixed(text: impl Into<String>) -> Self {
        Self::Fixed(text.into())
    }

    /// A token that a function returns, again when the director has refused it.
    pub fn source<F, R>(login: F) -> Self
    where
        F: Fn(bool) -> R + Send + Sync + 'static,
        R: Future<Output = Option<String>> + Send + 'static,
    {
        Self::Source(Arc::new(move |refresh| Box::pin(login(refresh))))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)") // it is secret
    }
}

/// An attempt that failed and is repeated after a pause.
#[derive(Debug, Clone)]
pub struct Retry {
    /// Why it failed.
    pub error: Error,
    /// How long the client waits.
    pub pause: Duration,
}

type OnRetry = Arc<dyn Fn(&Retry) + Send + Sync>;
type OnAttempt = Arc<dyn Fn(&str, Option<&str>) + Send + Sync>;

/// How a client reaches the director. Make it with [`Options::new`].
#[derive(Clone)]
pub struct Options {
    pub(crate) urls: Vec<String>,
    pub(crate) token: Option<Token>,
    pub(crate) attempt_timeout: Duration,
    pub(crate) first_backoff: Duration,
    pub(crate) max_backoff: Duration,
    pub(crate) on_retry: Option<OnRetry>,
    pub(crate) on_stream: Option<OnAttempt>,
}

impl Options {
    /// Options with the base URLs of the replicas, such as "https://director.example". A path is kept as a prefix.
    pub fn new<U: Into<String>>(urls: impl IntoIterator<Item = U>) -> Self {
        Self {
            urls: urls.into_iter().map(Into::into).collect(),
            token: None,
            attempt_timeout: Duration::from_secs(5),
            first_backoff: Duration::from_millis(250),
            max_backoff: Duration::from_secs(30),
            on_retry: None,
            on_stream: None,
        }
    }

    /// The access token of the player. Game servers have none.
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// Bounds one request to one replica, so that one that hangs does not hold up the call; 5 s by default.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = timeout;
        self
    }

    /// The first pause between attempts and the longest; 250 ms and 30 s by default. Pauses double, and each varies by
    /// half.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_backoff, self.max_backoff) = (first, longest);
        self
    }

    /// Is called before each pause, for logs and for "reconnecting…".
    pub fn on_retry(mut self, call: impl Fn(&Retry) + Send + Sync + 'static) -> Self {
        self.on_retry = Some(Arc::new(call));
        self
    }

    /// Is called for each stream of events that is opened, with the replica and the last event that is known. For tests.
    #[doc(hidden)]
    pub fn on_stream(mut self, call: impl Fn(&str, Option<&str>) + Send + Sync + 'static) -> Self {
        self.on_stream = Some(Arc::new(call));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the token nor the URLs: a wrong one may have a password.
        f.debug_struct("Options").field("attempt_timeout", &self.attempt_timeout).finish_non_exhaustive()
    }
}
