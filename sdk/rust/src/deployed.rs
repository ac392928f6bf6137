//! What a game server finds in its environment when the director has started it.

use std::collections::BTreeMap;

use crate::server::ServerOptions;
use crate::Error;

/// The environment of a game server that the director has started by a provider.
#[derive(Clone)]
pub struct Deployment {
    /// For [`GameServer::start`](crate::GameServer::start).
    pub server: ServerOptions,
    /// What the server binds, by name: lower case, with - between words.
    pub ports: BTreeMap<String, u16>,
    /// The key of netcode connect tokens; `None` for apps without them. It is secret.
    pub netcode_key: Option<[u8; 32]>,
    /// The protocol id of connect tokens.
    pub protocol_id: u64,
}

impl Deployment {
    /// Reads the environment of this process; `None` if the director has not started it. Errors: Invalid, for a variable that
    /// is missing or wrong, which no director of this release gives.
    pub fn from_env() -> Result<Option<Self>, Error> {
        Self::from_variables(std::env::vars())
    }

    /// As [`Deployment::from_env`], of other variables.
    pub fn from_variables(variables: impl IntoIterator<Item = (String, String)>) -> Result<Option<Self>, Error> {
        let env: BTreeMap<String, String> = variables.into_iter().collect();
        if env.get("LATTICE_DEPLOYMENT_ID").map_or(true, String::is_empty) {
            return Ok(None);
        }
        let text = |name: &str| env.get(name).filter(|v| !v.is_empty()).cloned().ok_or_else(|| wrong(name, "is missing"));
        let list = |name: &str| text(name).map(|v| v.split(',').map(str::to_owned).collect::<Vec<_>>());
        let mut server = ServerOptions::new(list("DIRECTOR_URL")?, text("LATTICE_DEPLOYMENT_ID")?, text("FLEET_TOKEN")?);
        server.region = text("LATTICE_REGION")?;
        server.modes = list("LATTICE_MODES")?;
        server.capacity = number(&text("LATTICE_CAPACITY")?, "LATTICE_CAPACITY")?;
        let mut ports = BTreeMap::new();
        for (name, value) in &env {
            if let Some(port) = name.strip_prefix("LATTICE_PORT_") {
                ports.insert(port.to_lowercase().replace('_', "-"), number(value, name)?);
            }
        }
        let netcode_key = env.get("LATTICE_NETCODE_KEY").map(|hex| key_of(hex)).transpose()?;
        let protocol_id = env.get("LATTICE_PROTOCOL_ID").map_or(Ok(0), |v| number(v, "LATTICE_PROTOCOL_ID"))?;
        Ok(Some(Self { server, ports, netcode_key, protocol_id }))
    }
}

fn wrong(name: &str, what: &str) -> Error {
    Error::invalid("", &format!("{name} {what} in the environment of a deployment"))
}

fn number<N: std::str::FromStr>(text: &str, name: &str) -> Result<N, Error> {
    text.parse().map_err(|_| wrong(name, "is no number"))
}

fn key_of(hex: &str) -> Result<[u8; 32], Error> {
    let refused = || wrong("LATTICE_NETCODE_KEY", "is no key of 64 hex digits"); // it is secret: not quoted
    if hex.len() != 64 || !hex.is_ascii() {
        return Err(refused());
    }
    let mut key = [0; 32];
    for (i, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).map_err(|_| refused())?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(change: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut env: BTreeMap<String, String> = [
            ("LATTICE_DEPLOYMENT_ID", "d"), ("DIRECTOR_URL", "http://a,http://b"), ("FLEET_TOKEN", "secret"), ("LATTICE_REGION", "eu"),
            ("LATTICE_MODES", "duel,ffa"), ("LATTICE_CAPACITY", "8"), ("LATTICE_PORT_WEB_RTC", "7001"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
        env.extend(change.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        env.into_iter().collect()
    }

    #[test]
    fn a_deployment_is_read() {
        let key = "0102".repeat(16);
        let read = Deployment::from_variables(environment(&[("LATTICE_NETCODE_KEY", &key), ("LATTICE_PROTOCOL_ID", "18446744073709551615")]));
        let d = read.unwrap().unwrap();
        assert_eq!((d.ports["web-rtc"], d.protocol_id, d.netcode_key.unwrap()[..2].to_vec()), (7001, u64::MAX, vec![1, 2]));
        assert_eq!((d.server.region.as_str(), d.server.capacity), ("eu", 8));
        assert!(Deployment::from_variables(environment(&[("LATTICE_DEPLOYMENT_ID", "")])).unwrap().is_none());
    }

    #[test]
    fn a_wrong_variable_is_named_and_not_quoted() {
        for (name, value) in [
            ("LATTICE_CAPACITY", "many"), ("LATTICE_MODES", ""), ("FLEET_TOKEN", ""), ("LATTICE_PORT_GAME", "70000"), ("LATTICE_NETCODE_KEY", "secret"),
        ] {
            let error = Deployment::from_variables(environment(&[(name, value)])).err().expect(name);
            assert!(error.detail.contains(name), "{error}");
            assert!(value.is_empty() || !error.detail.contains(value), "{error}");
        }
    }
}
