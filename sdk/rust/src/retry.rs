//! Which replica is next, and when.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind};

/// How long a replica is skipped after it has failed: about the time of a restart.
const SKIPPED_FOR: Duration = Duration::from_secs(2);

/// The base URLs of the replicas by turns, without those that have just failed. It starts at a random one, so that clients
/// that start together do not all call the same.
pub(crate) struct Replicas {
    all: Vec<String>,
    state: Mutex<Turns>,
}

struct Turns {
    next: usize,
    skip_until: Vec<Option<Instant>>,
}

impl Replicas {
    /// Errors: `None` if there is no URL, or one has a user, a query or another scheme. The error never quotes it.
    pub(crate) fn new(urls: &[String]) -> Option<Self> {
        let all = urls.iter().map(|url| base_of(url)).collect::<Option<Vec<_>>>()?;
        if all.is_empty() {
            return None;
        }
        let turns = Turns { next: fastrand::usize(..all.len()), skip_until: vec![None; all.len()] };
        Some(Self { all, state: Mutex::new(turns) })
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the next replica that is not skipped, else the one that is skipped for the shortest.
    pub(crate) fn pick(&self) -> &str {
        let mut turns = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let (now, count) = (Instant::now(), self.all.len());
        let left = |i: &usize| turns.skip_until[*i].map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        let best = (0..count).map(|i| (turns.next + i) % count).min_by_key(left).unwrap_or(0);
        turns.next = (best + 1) % count;
        &self.all[best]
    }

    pub(crate) fn note_failure(&self, base: &str) {
        let mut turns = self.state.lock().unwrap_or_else(|e| e.into_inner());
        for (i, _) in self.all.iter().enumerate().filter(|(_, url)| *url == base) {
            turns.skip_until[i] = Some(Instant::now() + SKIPPED_FOR);
        }
    }
}

/// Returns a URL without a slash at its end; `None` for one that is not called.
pub(crate) fn base_of(url: &str) -> Option<String> {
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let is_plain = !host.is_empty() && !host.contains(['@', '?', '#', ' ', '\r', '\n', '\t']);
    is_plain.then(|| url.trim_end_matches('/').to_owned())
}

/// Says how long to wait before the next attempt: a backoff that doubles and varies by half, plus the last answer's
/// Retry-After of at most a minute. The sum and not the larger one: otherwise all clients that got the same Retry-After
/// would return together.
pub(crate) struct Pacer {
    first: Duration,
    longest: Duration,
    interval: Duration,
}

impl Pacer {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, interval: first }
    }

    pub(crate) fn after(&mut self, error: &Error) -> Duration {
        // Capacity does not come back within a moment.
        let least = if error.code == "no_capacity" { 1 } else { 0 };
        let asked = error.retry_after.unwrap_or(Duration::from_secs(least));
        asked.min(Duration::from_secs(60)) + self.next()
    }

    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.interval.mul_f64(0.5 + fastrand::f64());
        self.interval = (2 * self.interval).min(self.longest);
        pause
    }

    pub(crate) fn reset(&mut self) {
        self.interval = self.first;
    }
}

/// Decides whether a call is repeated. One for each call, because an internal error is repeated once.
#[derive(Default)]
pub(crate) struct RetryPolicy {
    internal_errors: u32,
}

impl RetryPolicy {
    pub(crate) fn repeats(&mut self, error: &Error) -> bool {
        if error.kind == ErrorKind::Refused && error.status == 500 {
            self.internal_errors += 1;
            return self.internal_errors == 1;
        }
        error.is_unavailable()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_checked() {
        for wrong in ["", "director.example", "ftp://a", "http://", "http://user:secret@a", "https://a?b", "http://a b"] {
            assert!(Replicas::new(&[wrong.to_owned()]).is_none(), "{wrong}");
        }
        assert!(Replicas::new(&[]).is_none());
        let one = Replicas::new(&["https://a/prefix//".to_owned()]).unwrap();
        assert_eq!(one.pick(), "https://a/prefix");
    }

    #[test]
    fn a_replica_that_failed_is_skipped() {
        let all = Replicas::new(&["http://a".to_owned(), "http://b".to_owned()]).unwrap();
        let first = all.pick().to_owned();
        assert_ne!(first, all.pick());
        all.note_failure(&first);
        for _ in 0..4 {
            assert_ne!(first, all.pick());
        }
        let other = all.pick().to_owned();
        all.note_failure(&other);
        assert_eq!(first, all.pick(), "the one that is skipped for the shortest");
    }

    #[test]
    fn pauses_grow_and_add_what_was_asked() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_millis(400));
        let mut pacer = Pacer::new(first, longest);
        for most in [150, 300, 600, 600] {
            let pause = pacer.next();
            assert!(pause >= Duration::from_millis(most / 3) && pause <= Duration::from_millis(most), "{pause:?}");
        }
        pacer.reset();
        let mut error = Error::unreachable("GET /", "");
        assert!(pacer.after(&error) <= Duration::from_millis(150));
        error.retry_after = Some(Duration::from_secs(3600));
        assert!(pacer.after(&error) >= Duration::from_secs(60) && pacer.after(&error) < Duration::from_secs(61));
    }

    #[test]
    fn an_internal_error_is_repeated_once() {
        let mut error = Error::new(ErrorKind::Refused, "GET /", "");
        let mut policy = RetryPolicy::default();
        error.status = 500;
        assert!(policy.repeats(&error));
        assert!(!policy.repeats(&error));
        for (status, repeats) in [(503, true), (429, true), (400, false), (409, false)] {
            error.status = status;
            assert_eq!(policy.repeats(&error), repeats, "{status}");
        }
    }
}
