// Package lobby is the Go client of the director's realtime lobby: rooms, chat, parties, lobbies, the queue, and the
// way to the game server of a match. docs/how-to/lobbies.md is the guide, docs/nexis.md describes every message.
//
// A program calls [Connect] and gets a [Client], which is one session of one player. When its connection ends, it
// connects to the next replica and resumes its session, so that the player stays in its rooms and in the queue:
//
//	Connect ── connected ──┬── the connection ends, or is silent: connects again, resumes the session ── connected
//	                       ├── the same after the session's time to live: a new session joins the rooms again
//	                       └── Close, a refused token, or another client with the same session: final
//
// What the director sends arrives in two ways: Options.OnEvent is called with each [Event], and [Room.State] is what
// the client knows of a room now. [Client.Await] waits until something holds.
//
// Methods that may be carried out twice are repeated until their context ends: joining, leaving, queueing. Others, such
// as [Room.Say], return [ErrUncertain] when the connection ended before the answer.
//
// client.go has the options and what a client is, connect.go how it begins and ends, connection.go a connection,
// reconnect.go and cell.go its replacement, pause.go how long the client waits for that, receive*.go what arrives,
// call.go requests and answers, room.go and group.go what is done in rooms, code.go their codes, membership.go what is
// known of a room, list.go lists of rooms, watch.go the lists that are kept up to date, match.go the queue, player.go
// messages between players, state.go the states, event.go the events.
package lobby
