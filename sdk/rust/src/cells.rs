//! Where regions are that other cells serve.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use crate::client::Call;
use crate::retry::base_of;
use crate::Error;

/// Bounds the regions, and the tickets, whose cells a client remembers.
const MAX_REMEMBERED: usize = 4096;

/// Addresses of cells by what is there, of which the oldest are forgotten.
#[derive(Default)]
struct Places {
    addresses: HashMap<String, String>,
    oldest: VecDeque<String>,
}

impl Places {
    fn remember(&mut self, what: &str, address: &str) {
        if self.addresses.insert(what.to_owned(), address.to_owned()).is_none() {
            self.oldest.push_back(what.to_owned());
        }
        if self.oldest.len() > MAX_REMEMBERED {
            self.oldest.pop_front().map(|oldest| self.addresses.remove(&oldest));
        }
    }

    fn forget(&mut self, what: &str) {
        if self.addresses.remove(what).is_some() {
            self.oldest.retain(|known| known != what);
        }
    }
}

/// What a client knows of other cells: installations that serve other regions of the title. It learns that from answers of
/// the configured replicas alone, so nobody else can name an address to which a token is sent.
#[derive(Default)]
pub(crate) struct Cells(Mutex<Known>);

#[derive(Default)]
struct Known {
    regions: Places,
    tickets: Places,
}

impl Cells {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the address of the cell that has what a call names, if it is known.
    pub(crate) fn address_for(&self, call: &Call) -> Option<String> {
        let known = self.known();
        let found = match call.ticket.as_str() {
            "" => known.regions.addresses.get(&call.region),
            ticket => known.tickets.addresses.get(ticket),
        };
        found.cloned()
    }

    pub(crate) fn remember_ticket(&self, id: &str, address: &str) {
        self.known().tickets.remember(id, address);
    }

    pub(crate) fn forget_region(&self, region: &str) {
        self.known().regions.forget(region);
    }

    /// Returns where to ask in place of the replica that was asked, and remembers it; `None` if the answer was another.
    pub(crate) fn follow(&self, asked: &str, error: &Error) -> Option<String> {
        if !error.is_elsewhere() {
            return None;
        }
        let address = base_of(&error.address)?;
        if asked.starts_with("https:") && !address.starts_with("https:") {
            return None; // a token that was sent by https is not sent in plain text
        }
        if !error.region.is_empty() {
            self.known().regions.remember(&error.region, &address);
        }
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn elsewhere(region: &str, address: &str) -> Error {
        let mut error = Error::new(ErrorKind::Refused, "POST /matchmake", "");
        (error.status, error.code) = (421, "region_elsewhere".to_owned());
        (error.region, error.address) = (region.to_owned(), address.to_owned());
        error
    }

    fn call_in(region: &str) -> Call {
        Call::get("/").region(region)
    }

    #[test]
    fn an_answer_is_followed_and_remembered() {
        let cells = Cells::default();
        assert_eq!(cells.follow("https://eu", &elsewhere("us", "https://us/prefix/")), Some("https://us/prefix".to_owned()));
        assert_eq!(cells.address_for(&call_in("us")), Some("https://us/prefix".to_owned()));
        assert_eq!(cells.address_for(&call_in("eu")), None);
        cells.forget_region("us");
        assert_eq!(cells.address_for(&call_in("us")), None);
        cells.remember_ticket("t", "https://us");
        assert_eq!(cells.address_for(&call_in("eu").ticket("t")), Some("https://us".to_owned()));
        assert_eq!(cells.address_for(&call_in("eu").ticket("other")), None);
    }

    #[test]
    fn an_address_that_may_not_get_the_token_is_not_followed() {
        let cells = Cells::default();
        for address in ["http://us", "", "us", "ftp://us", "https://user@us", "https://us?a"] {
            assert_eq!(cells.follow("https://eu", &elsewhere("us", address)), None, "{address}");
        }
        assert_eq!(cells.follow("http://eu", &elsewhere("us", "http://us")), Some("http://us".to_owned()));
        let mut another = elsewhere("us", "https://us");
        another.status = 409;
        assert_eq!(cells.follow("https://eu", &another), None);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let cells = Cells::default();
        for i in 0..=MAX_REMEMBERED {
            cells.remember_ticket(&i.to_string(), "https://us");
        }
        assert_eq!(cells.address_for(&call_in("").ticket("0")), None);
        assert!(cells.address_for(&call_in("").ticket("1")).is_some());
        assert_eq!(cells.known().tickets.oldest.len(), MAX_REMEMBERED);
    }
}
