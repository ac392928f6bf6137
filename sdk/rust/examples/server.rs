//! A game server that the director starts, as far as players coming and going is concerned: a datagram "+<client id>" is a
//! client that connects, "-<client id>" one that leaves. It answers with the clients to disconnect. A real one learns the
//! ids from its netcode library.

use std::collections::BTreeSet;
use std::net::UdpSocket;

use lattice_director::blocking::GameServer;
use lattice_director::Deployment;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let deployment = Deployment::from_env()?.ok_or("the director has not started this process")?;
    let socket = UdpSocket::bind(("0.0.0.0", deployment.ports["game"]))?;
    let mut options = deployment.server;
    options.cert_digest = "ab".repeat(32);
    let server = GameServer::start(options)?;
    let (mut connected, mut buffer) = (BTreeSet::new(), [0; 64]);
    loop {
        let (length, from) = socket.recv_from(&mut buffer)?;
        let text = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
        let (sign, id) = text.split_at_checked(1).unwrap_or_default();
        let Ok(client) = id.parse::<u64>() else { continue };
        if sign == "+" {
            connected.insert(client);
        } else {
            connected.remove(&client);
        }
        let refused = server.report_clients(connected.iter().copied())?.refused;
        for client in &refused {
            connected.remove(&client.client_id.parse()?);
        }
        let answer: Vec<String> = refused.iter().map(|c| format!("{} {}", c.client_id, c.result)).collect();
        socket.send_to(answer.join(",").as_bytes(), from)?;
    }
}
