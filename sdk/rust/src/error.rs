//! What calls return instead of a value.

use std::fmt;
use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

/// Why a call has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The director answered: see [`Error::code`], and [`Error::status`] where that is empty.
    Refused,
    /// No replica answered. Most calls repeat this, so only [`Options::on_retry`](crate::Options::on_retry) sees it.
    Unreachable,
    /// An answer that no director sends: the address is probably another program's.
    Unreadable,
    /// Options or arguments that cannot work.
    Invalid,
}

/// An invalid field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The name of the field.
    pub field: String,
    /// What is wrong with it.
    pub detail: String,
}

/// The error of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// Why there is no value.
    pub kind: ErrorKind,
    /// The call, such as "POST /matchmake".
    pub call: String,
    /// The status of HTTP; 0: there was no answer.
    pub status: u16,
    /// The stable reason, such as "no_capacity". A newer director may send others.
    pub code: String,
    /// The reason for people. It may change.
    pub detail: String,
    /// Identifies the request in the director's log.
    pub request_id: String,
    /// With status 400, each invalid field.
    pub fields: Vec<FieldError>,
    /// How long the director asks to wait.
    pub retry_after: Option<Duration>,
    /// With "no_capacity", how many game servers start now.
    pub servers_starting: Option<u64>,
    /// With "ticket_exists" and "party_conflict", the ticket with which the caller waits.
    pub ticket_id: String,
    /// With "region_elsewhere", the region that another cell serves.
    pub region: String,
    /// The base URL of that cell. Calls follow it; a caller sees it only where they may not.
    pub address: String,
}

/// A longer text of an answer is cut: what a stranger sends must not fill a log.
const LONGEST_TEXT: usize = 1000;

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, call: &str, detail: &str) -> Self {
        Self {
            kind,
            call: call.into(),
            detail: detail.into(),
            status: 0,
            code: String::new(),
            request_id: String::new(),
            fields: Vec::new(),
            retry_after: None,
            servers_starting: None,
            ticket_id: String::new(),
            region: String::new(),
            address: String::new(),
        }
    }

    pub(crate) fn unreachable(call: &str, detail: &str) -> Self {
        Self::new(ErrorKind::Unreachable, call, detail)
    }

    pub(crate) fn unreadable(call: &str, detail: &str) -> Self {
        Self::new(ErrorKind::Unreadable, call, detail)
    }

    pub(crate) fn invalid(call: &str, detail: &str) -> Self {
        Self::new(ErrorKind::Invalid, call, detail)
    }

    /// The error of an answer that is not a success, with or without a problem document.
    pub(crate) fn refused(call: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let problem: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |name: &str| problem[name].as_str().map(shortened);
        let header = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
        let detail = text("detail").or_else(|| text("title")).unwrap_or_default();
        let mut error = Self::new(ErrorKind::Refused, call, &detail);
        error.status = status;
        error.code = text("code").unwrap_or_default();
        error.ticket_id = text("ticket_id").unwrap_or_default();
        error.region = text("region").unwrap_or_default();
        error.address = text("address").unwrap_or_default();
        error.request_id = header("X-Request-Id").map(shortened).unwrap_or_default();
        // The director sends no dates.
        error.retry_after = header("Retry-After").and_then(|v| v.parse::<u32>().ok()).map(|s| Duration::from_secs(s.into()));
        error.servers_starting = problem["servers_starting"].as_u64();
        for field in problem["errors"].as_array().into_iter().flatten() {
            let of = |name: &str| field[name].as_str().map(shortened).unwrap_or_default();
            error.fields.push(FieldError { field: of("field"), detail: of("detail") });
        }
        error
    }

    /// Whether a retry may succeed.
    pub fn is_unavailable(&self) -> bool {
        match self.kind {
            ErrorKind::Unreachable => true,
            ErrorKind::Refused => matches!(self.status, 408 | 429 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// Whether the error concerns one replica only: it gave no answer, or is shutting down.
    pub(crate) fn is_of_replica(&self) -> bool {
        self.kind == ErrorKind::Unreachable || self.code == "draining"
    }

    /// Whether another cell serves the region that the call names.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.status == 421 && self.has_code(&["region_elsewhere"])
    }

    pub(crate) fn has_code(&self, codes: &[&str]) -> bool {
        self.kind == ErrorKind::Refused && codes.contains(&self.code.as_str())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.call)?;
        if self.status != 0 {
            write!(f, " {}", self.status)?;
        }
        for text in [&self.code, &self.detail] {
            if !text.is_empty() {
                write!(f, " {text}")?;
            }
        }
        for field in &self.fields {
            write!(f, "; {} {}", field.field, field.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
