// Package waitingroom seats players who wait for a server in this replica. A player who finds no capacity joins the
// queue of its mode; the room records it as demand, so that a pool starts a server, and asks for its seat again when
// capacity may have come free: when an instance becomes ready, when a session ends, and every two seconds. The oldest
// players of a queue ask first. A queue asks for one seat, then for two, four and so on, until a player gets none:
// however many wait, a queue without capacity costs one call of db.Store.Place.
//
// The room is not durable: if its replica dies, its players' demand lapses after [TTL], and the seats that they did
// not use expire. db decides which players get seats (queries/placement.sql), and how many servers a mode needs
// (db/provision/scale.go).
//
// room.go has the room, its queues and players, which one mutex guards; queue.go asks for the seats of players,
// demand.go records the players, run.go runs both. player.go has what a caller does with its player, request.go what a
// caller asks for and learns.
package waitingroom
