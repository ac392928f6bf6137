package wire

// Hints say what the author of a client can do about a failure, by its code. Clients get them as a field of their own,
// because the texts are those that clients of Nexis know.
var Hints = map[string]string{
	CodeBadFrame: `a frame is {"v": 1, "t": "…", "rid": "…", "room": "…", "p": {}}, in the codec that handshake.ok names`,
	CodeVersion:  `"v" must be 1`,

	codeTypeRequired: `"t" names the message, such as room.join_or_create`,
	CodeUnknownType: "there are room.join_or_create, room.leave, room.list, room.message, room.message.bytes, " +
		"state.ack, state.resync, room.join, room.code, room.update, room.unlist, room.history, player.message, " +
		"player.history, player.read, presence.watch, matchmaking.enqueue, matchmaking.dequeue, match.accept, " +
		"match.decline, match.resolve, player.block, player.unblock, player.blocked and echo",
	codeRoomRequired: `the field "room" names the room`,

	"room_not_found":        "room.join_or_create makes a room; the director makes those of matches",
	"not_a_member":          "join the room first, with room.join_or_create",
	"unsupported_room_type": "there are chat, lobby, party, match and the types of DIRECTOR_REALTIME_ROOMS, and a room keeps its type",
	"no_logic":              "rooms of this type accept no messages; those of the type chat relay them",
	"cannot_match":          `"attributes" and "latencies" must be what the profile of the room type needs`,
	"profile_unknown":       "DIRECTOR_REALTIME_ROOMS names the profile of the room type: `director profiles list` lists those that are there",
	"too_many_rooms":        "leave a room first, with room.leave",
	"not_invited":           `the room is private: a member invites the player, which is the "sub" of its token`,
}
