// Package docker runs game servers as containers of a Docker engine, through its HTTP API.
//
// # Containers
//
// A container is named by its deployment's tag, so a repeated Deploy finds it instead of starting a second one. Labels
// hold the owner, the tag and the names of the ports; nothing is kept elsewhere. A container that was created and not
// started, because a director died in between, is no deployment yet: Find does not return it, and the next Deploy
// starts it.
//
// Containers that have ended are kept for an hour, so that operators can read their logs; List removes them then. Their
// logs are bounded where the engine's logging driver is json-file, whose files grow without a bound by default.
//
// # What a row of the database can start
//
// Only images of [Config].Images, which must be on the host already: the engine pulls nothing. The command, the mounts,
// the network and the privileges are the image's and the engine's: a row sets only the environment, ports and limits.
// Everybody who may use the engine can read the environment.
//
// # Ends
//
// The engine sends SIGTERM, and SIGKILL after the grace. It continues with that when the director that asked is gone.
// Stop looks for the engine's event of an earlier SIGTERM, so that a repeated call sends no second one, at which many
// games exit at once.
package docker
