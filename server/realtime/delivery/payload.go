package delivery

import (
	"encoding/json"
	"fmt"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// entryTypes are the types of the messages about entries of a room's log.
var entryTypes = map[string]string{
	lobby.EntryJoined: "room.joined", lobby.EntryLeft: "room.left", lobby.EntryDropped: "room.dropped",
	lobby.EntryReconnected: "room.reconnected",
	lobby.EntryMessage:     "room.message", lobby.EntryBytes: "room.message.bytes",
}

// entryMessage returns the message about an entry of a room's log, the one with the index i of the row at pos.
func entryMessage(room string, e lobby.Entry, pos int64, i int) wire.Outgoing {
	p := entryPayload(e)
	if e.Kind == lobby.EntryMessage || e.Kind == lobby.EntryBytes {
		p["id"] = fmt.Sprintf("%d.%d", pos, i) // by which a client knows a message that is repeated
	}
	return wire.Outgoing{Type: entryTypes[e.Kind], Room: room, P: p}
}

func entryPayload(e lobby.Entry) map[string]any {
	p := map[string]any{}
	switch e.Kind {
	case lobby.EntryMessage:
		p["type"], p["data"] = e.Type, e.Data
	case lobby.EntryBytes:
		p["type"], p["data_b64"] = e.Type, e.Data
	default:
		p["client_id"] = e.Session
		wire.AddText(p, "reason", e.Reason)
		return p
	}
	wire.AddText(p, "from", e.Session) // absent from a message of the room itself
	if e.Number > 0 {
		AddSaying(p, e.Number, e.SaidAt, e.Session, e.Player)
	}
	return p
}

// AddSaying adds the fields of a message that is stored: its number, when it was sent, and its player, if that has a
// name.
func AddSaying(p map[string]any, number, saidAt int64, session, player string) {
	p["number"], p["at"] = number, saidAt
	if player != session {
		wire.AddText(p, "from_player", player)
	}
}

// membersMessage returns room.members. The ids are sorted.
func membersMessage(room string, ids []string) wire.Outgoing {
	return wire.Outgoing{Type: "room.members", Room: room, P: map[string]any{"members": ids, "count": len(ids)}}
}

// snapshotMessage returns state.snapshot. A checksum of "" is left out, since clients ignore a message whose checksum
// is no text.
func snapshotMessage(room string, seq int64, state json.RawMessage, checksum string) wire.Outgoing {
	p := map[string]any{"seq": seq, "state": state}
	wire.AddText(p, "checksum", checksum)
	return wire.Outgoing{Type: "state.snapshot", Room: room, P: p}
}

func patchMessage(room string, seq int64, ops []lobby.Op) wire.Outgoing {
	list := make([]any, len(ops))
	for i, op := range ops {
		o := map[string]any{"op": op.Op, "path": op.Path}
		if op.Value != nil {
			o["value"] = op.Value
		}
		list[i] = o
	}
	return wire.Outgoing{Type: "state.patch", Room: room, P: map[string]any{"seq": seq, "ops": list}}
}

// invitationMessage returns match.found for the room of a match, and room.invited for any other.
func invitationMessage(i db.RealtimeInvitation) wire.Outgoing {
	p := map[string]any{"room": i.RoomID, "room_type": i.RoomType}
	if i.Participants == nil {
		wire.AddText(p, "from", i.FromSession)
		wire.AddText(p, "from_player", i.FromPlayer)
		return wire.Outgoing{Type: "room.invited", Room: i.RoomID, P: p}
	}
	p["size"], p["participants"] = i.MatchSize, i.Participants
	return wire.Outgoing{Type: "match.found", Room: i.RoomID, P: p}
}

// pendingMessage returns match.pending: the player has to accept the match, or to decline it.
func pendingMessage(w db.RealtimeWait) wire.Outgoing {
	return wire.Outgoing{Type: "match.pending", P: map[string]any{
		"room_type": w.RoomType, "size": w.MatchSize, "seconds": int(w.AnswerWithin.Seconds()),
		"match_id": w.AskedMatch.String(),
	}}
}

// expiredMessage returns matchmaking.expired: the session waits for a match no more.
func expiredMessage(e db.ExpiredWait) wire.Outgoing {
	return wire.Outgoing{Type: "matchmaking.expired",
		P: map[string]any{"room_type": e.RoomType, "size": e.MatchSize, "reason": e.Reason}}
}
