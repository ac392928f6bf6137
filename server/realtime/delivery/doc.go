// Package delivery sends the members of rooms what happens in them: it follows the logs of the rooms that have members
// on this replica, and the news of their sessions. It knows connections only as [Receiver]; package realtime has these.
// From top to bottom:
//
//   - hub.go: what package realtime calls; options.go: what it gives
//   - follow.go: the log, of what other replicas did; follow_compare.go: which rooms are behind; follow_read.go: their
//     rows; log_requests.go: what rooms ask of the log
//   - news.go, news_queue.go, news_message.go, invitations.go: invitations, ready checks, messages to players, and the
//     end of a session
//   - rooms.go, sessions.go: which rooms and sessions are here
//   - room.go: a room; room_inbox.go: its work, one batch after the other; room_run.go: a batch; room_rows.go: rows are
//     applied in order; room_join.go: a session enters; room_list.go: the list of members; room_reset.go: rows that
//     cannot be read any more, and the room's end
//   - member.go: what a member was sent; snapshot_policy.go: when it gets a snapshot instead of patches;
//     session.go: a session
//   - row.go, snapshot.go, payload.go: the frames; push.go: a connection, and what its outbox may do with a frame
package delivery
