package wire

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/lobby"
)

// ProtocolVersion is the v of every frame.
const ProtocolVersion = 1

// maxRID is how many bytes a rid may have: it is sent back.
const maxRID = 256

// Envelope is a frame of a client.
type Envelope struct {
	Type string
	RID  string // empty: the client wants no answer
	Room string // empty if HasRoom is false, or if the client sent ""
	P    value  // as sent; nil: none

	HasRoom bool // the frame has a room, which may be ""
}

// newEnvelope reads a decoded frame.
func newEnvelope(root value, frameBytes int) (Envelope, error) {
	object, is := root.(map[string]any)
	if !is {
		return Envelope{}, badFrame("", errors.New("not an object"))
	}
	e := Envelope{RID: ridOf(root), P: object["p"]}
	// First of all checks, so that the answers to the others have a rid that the client sent.
	if rid, isText := optionalText(object["rid"]); !isText || rid != e.RID {
		return Envelope{}, badFrame(e.RID, fmt.Errorf("rid is not a string of up to %d bytes", maxRID))
	}
	var isTypeText, isRoomText bool
	e.Type, isTypeText = optionalText(object["t"])
	e.Room, isRoomText = optionalText(object["room"])
	// Also for "": an empty name is refused, and must not fall back to the fields of p.
	e.HasRoom = object["room"] != nil
	version, isNumber := object["v"].(float64)
	switch {
	case !isTypeText:
		return Envelope{}, badFrame(e.RID, errors.New("t is not a string"))
	case !isRoomText:
		return Envelope{}, badFrame(e.RID, errors.New("room is not a string"))
	case !isNumber:
		return Envelope{}, badFrame(e.RID, errors.New("v is not a number"))
	case version != ProtocolVersion:
		return Envelope{}, &FrameError{Code: CodeVersion,
			Text: fmt.Sprintf("unsupported protocol version: %v", version), RID: e.RID}
	case strings.TrimSpace(e.Type) == "":
		return Envelope{}, &FrameError{Code: codeTypeRequired, Text: "message type is required", RID: e.RID}
	// Last, since it may encode the payload.
	case !fitsPayload(e.P, frameBytes):
		return Envelope{}, &FrameError{Code: CodeTooLarge, Text: "payload exceeds maximum size", RID: e.RID}
	}
	return e, nil
}

// ridOf returns the rid of a decoded frame, or of what has been decoded of it; empty if it has none. One that is too
// long is cut, and a number becomes text, so that the client can tell which of its frames was refused.
func ridOf(root value) string {
	object, _ := root.(map[string]any)
	rid, isText := object["rid"].(string)
	if number, is := object["rid"].(float64); is {
		return string(RawJSON(number))
	}
	if !isText || len(rid) <= maxRID {
		return rid
	}
	return strings.ToValidUTF8(rid[:maxRID], "")
}

// optionalText returns a string; null is as good as absent.
func optionalText(v value) (text string, valid bool) {
	if v == nil {
		return "", true
	}
	text, valid = v.(string)
	return text, valid
}

// PayloadFields returns p as an object; nil if it is none.
func (e Envelope) PayloadFields() map[string]any {
	object, _ := e.P.(map[string]any)
	return object
}

// PayloadOptions returns p.options as an object; nil if it is none.
func (e Envelope) PayloadOptions() map[string]any {
	options, _ := e.PayloadFields()["options"].(map[string]any)
	return options
}

// firstField returns the first of the fields that is there: names are camelCase on the wire and snake_case in the
// documents of Nexis.
func firstField(fields map[string]any, names ...string) (value, bool) {
	for _, name := range names {
		if v := fields[name]; v != nil {
			return v, true
		}
	}
	return nil, false
}

// RoomType returns the room type that is asked for, or the fallback if the frame names none.
func (e Envelope) RoomType(fallback string) (string, *Failure) {
	v, there := firstField(e.PayloadFields(), "roomType", "room_type")
	if !there {
		return fallback, nil
	}
	name, is := v.(string)
	if !is || !lobby.ValidType(name) {
		return "", InvalidField("room_type", "must have 1 to 64 bytes, without spaces, control characters and colons")
	}
	return name, nil
}

// MatchID returns the match that the player was asked about; zero if the client does not say.
func (e Envelope) MatchID() (id uuid.UUID, failed *Failure) {
	v, there := firstField(e.PayloadFields(), "matchId", "match_id")
	if !there {
		return id, nil
	}
	text, _ := v.(string)
	id, err := uuid.Parse(text)
	if err != nil {
		failed = InvalidField("match_id", "must be that of match.pending")
	}
	return id, failed
}

// RoomID returns the room that the frame names; empty if it names none.
func (e Envelope) RoomID() (string, *Failure) {
	if e.HasRoom {
		return checkRoom(e.Room)
	}
	v, there := firstField(e.PayloadFields(), "roomId", "room_id", "room")
	if !there {
		v, there = firstField(e.PayloadOptions(), "roomId", "room_id")
	}
	if !there {
		return "", nil
	}
	return checkRoom(v)
}

// NeededRoom is RoomID for the messages that need one.
func (e Envelope) NeededRoom() (string, *Failure) {
	room, fail := e.RoomID()
	if fail == nil && room == "" {
		fail = &Failure{Code: codeRoomRequired, Text: "room id is required"}
	}
	return room, fail
}

// JoinedRoom is RoomID for room.join_or_create: an options.room without a colon is a suffix to the type, and each type
// has a default.
func (e Envelope) JoinedRoom(roomType string) (string, *Failure) {
	room, fail := e.RoomID()
	if fail != nil || room != "" {
		return room, fail
	}
	suffix, there := firstField(e.PayloadOptions(), "room")
	// As in Nexis: all who ask for a type alone meet in one room.
	if !there {
		return checkRoom(roomType + ":default")
	}
	if text, is := suffix.(string); is && text != "" && !strings.Contains(text, ":") {
		return checkRoom(roomType + ":" + text)
	}
	return checkRoom(suffix)
}

// checkRoom checks the id of a room, which may be any value.
func checkRoom(v value) (string, *Failure) {
	room, is := v.(string)
	if !is || !lobby.ValidID(room) {
		return "", InvalidField("room", "must have 1 to 128 bytes, without spaces and control characters")
	}
	return room, nil
}

// ClampInteger returns a number without its fraction, clamped to the limits, or the fallback if v is no number.
func ClampInteger(v value, fallback, least, most int) int {
	n, is := v.(float64)
	if !is || math.IsNaN(n) {
		return fallback
	}
	return int(math.Trunc(max(float64(least), min(float64(most), n))))
}
