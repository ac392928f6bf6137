// Package delivery sends the members of rooms what happens in them: it follows the logs of the rooms that have members
// on this replica, and the news of their sessions. It knows connections only as [Receiver]; package realtime has these.
//
//   - hub.go: the sessions and the rooms that are here; push.go: a connection, and what its outbox may do with a frame
//   - hub_room.go: a room, whose rows are applied in order; hub_list.go: its list of members; hub_member.go: what a
//     member was sent
//   - sync.go: when a member gets a snapshot instead of patches; snapshot.go, payload.go: the frames
//   - follow.go: the log, of what other replicas did; news.go, news_queue.go: invitations, ready checks, and the end of
//     a session
package delivery
