// Package orchestrator serves Rivalis game servers: it is the orchestrator of @rivalis/fleet 8, protocol major 3. A
// FleetAgent opens one WebSocket; the director polls it for its state and sends it commands. Matchmakers and dashboards
// use REST and events on the same listener. Agents, rooms and commands are rows, so every replica serves every call; an
// agent's connection belongs to one replica.
//
// A connection:
//
//   - run.go, server.go: what runs while the listener serves, and what a server has
//   - lease.go, follow.go, replica.go: the ids of this replica in the database; what each reads of its agents and
//     commands; the connections that it owns
//   - accept.go, key.go: handshakes, keys and limits
//   - agent.go, effects.go: the protocol of one connection, as a pure state machine
//   - socket_serve.go, socket_host.go: what happens to a conversation: messages, ticks, answers of the database
//   - socket_effects.go, socket_write.go, socket_end.go, socket.go: what its socket does then; one reader and one writer
//     at a time
//   - lane.go, queue.go, content.go: the database writes of a connection, in order and one call at a time
//
// The wire format, which is pure:
//
//   - wire.go: topics, version and limits of the protocol
//   - send.go: the frames that the director sends (hello, poll, cmd)
//   - frame.go: the outer frame, and how a bad message is handled
//   - receive.go, field.go: the bodies that the director receives (state, ack)
//   - snapshot.go, text.go: what a snapshot may contain
//
// REST and events: routes.go mounts the routes, answer.go writes answers and errors, commander.go turns the outcome of a
// command into an answer; each resource has a file of its own.
//
// Package db makes the ids of rooms (room_id.go, room_name.go) and chooses an agent for a room (spread.go). Package
// internal/rivalis/command waits for the acks of commands; internal/rivalis/roster keeps this replica's copy of the
// fleet.
//
// The states of a connection, as conversation has them:
//
//	hello, first poll ──first full state──▶ listed ──two misses──▶ stale ──third miss──▶ closed (4003)
//	                                          ▲                       │
//	                                          └────────reply──────────┘
package orchestrator
