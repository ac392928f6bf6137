package realtime

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/lobby"
)

// protocolVersion is the v of every frame.
const protocolVersion = 1

// maxRID is how many bytes a rid may have: it is sent back.
const maxRID = 256

// envelope is a frame of a client.
type envelope struct {
	Type string
	RID  string // empty: the client wants no answer
	Room string // empty if HasRoom is false, or if the client sent that
	P    value  // as sent; nil: none

	HasRoom bool
}

// newEnvelope reads a decoded frame of that many bytes.
func newEnvelope(root value, frame int) (envelope, error) {
	object, is := root.(map[string]any)
	if !is {
		return envelope{}, badFrame("", errors.New("not an object"))
	}
	e := envelope{RID: ridOf(root), P: object["p"]}
	if rid, is := optionalText(object["rid"]); !is || rid != e.RID {
		return envelope{}, badFrame("", fmt.Errorf("rid is not a string of up to %d bytes", maxRID))
	}
	var isType, isRoom bool
	e.Type, isType = optionalText(object["t"])
	e.Room, isRoom = optionalText(object["room"])
	e.HasRoom = object["room"] != nil
	version, isNumber := object["v"].(float64)
	switch {
	case !isType:
		return envelope{}, badFrame(e.RID, errors.New("t is not a string"))
	case !isRoom:
		return envelope{}, badFrame(e.RID, errors.New("room is not a string"))
	case !isNumber:
		return envelope{}, badFrame(e.RID, errors.New("v is not a number"))
	case version != protocolVersion:
		return envelope{}, &frameError{Code: codeVersion, Text: fmt.Sprintf("unsupported protocol version: %v", version), RID: e.RID}
	case strings.TrimSpace(e.Type) == "":
		return envelope{}, &frameError{Code: codeTypeRequired, Text: "message type is required", RID: e.RID}
	case !fits(e.P, frame):
		return envelope{}, &frameError{Code: codeTooLarge, Text: "payload exceeds maximum size", RID: e.RID}
	}
	return e, nil
}

// ridOf returns the rid of a decoded frame, or of what has been decoded of it; empty if it has none that can be sent back.
func ridOf(root value) string {
	object, _ := root.(map[string]any)
	rid, _ := object["rid"].(string)
	if len(rid) > maxRID {
		return ""
	}
	return rid
}

// optionalText returns a string; null is as good as absent.
func optionalText(v value) (text string, valid bool) {
	if v == nil {
		return "", true
	}
	text, valid = v.(string)
	return text, valid
}

// fields returns p as an object; nil if it is none.
func (e envelope) fields() map[string]any {
	object, _ := e.P.(map[string]any)
	return object
}

// options returns p.options as an object; nil if it is none.
func (e envelope) options() map[string]any {
	options, _ := e.fields()["options"].(map[string]any)
	return options
}

// field returns the first of the fields that is there: names are camelCase on the wire and snake_case in the documents of Nexis.
func field(fields map[string]any, names ...string) (value, bool) {
	for _, name := range names {
		if v := fields[name]; v != nil {
			return v, true
		}
	}
	return nil, false
}

// roomType returns the room type that is asked for; otherwise what it is if the client does not say.
func (e envelope) roomType(otherwise string) (string, *failure) {
	v, there := field(e.fields(), "roomType", "room_type")
	if !there {
		return otherwise, nil
	}
	name, is := v.(string)
	if !is || !lobby.ValidType(name) {
		return "", invalid("room_type", "must have 1 to 64 bytes, without spaces, control characters and colons")
	}
	return name, nil
}

// matchID returns the match that the player was asked about; zero if the client does not say.
func (e envelope) matchID() (id uuid.UUID, failed *failure) {
	v, there := field(e.fields(), "matchId", "match_id")
	if !there {
		return id, nil
	}
	text, _ := v.(string)
	id, err := uuid.Parse(text)
	if err != nil {
		failed = invalid("match_id", "must be that of match.pending")
	}
	return id, failed
}

// roomID returns the room that the frame names; empty if it names none.
func (e envelope) roomID() (string, *failure) {
	if e.HasRoom {
		return checkRoom(e.Room)
	}
	v, there := field(e.fields(), "roomId", "room_id", "room")
	if !there {
		v, there = field(e.options(), "roomId", "room_id")
	}
	if !there {
		return "", nil
	}
	return checkRoom(v)
}

// neededRoom is roomID for the messages that need one.
func (e envelope) neededRoom() (string, *failure) {
	room, fail := e.roomID()
	if fail == nil && room == "" {
		fail = &failure{Code: codeRoomRequired, Text: "room id is required"}
	}
	return room, fail
}

// joinedRoom is roomID for room.join_or_create: an options.room without a colon is a suffix to the type, and each type has a default.
func (e envelope) joinedRoom(roomType string) (string, *failure) {
	room, fail := e.roomID()
	if fail != nil || room != "" {
		return room, fail
	}
	suffix, there := field(e.options(), "room")
	if !there {
		return checkRoom(roomType + ":default")
	}
	if text, is := suffix.(string); is && text != "" && !strings.Contains(text, ":") {
		return checkRoom(roomType + ":" + text)
	}
	return checkRoom(suffix)
}

func checkRoom(v value) (string, *failure) {
	room, is := v.(string)
	if !is || !lobby.ValidID(room) {
		return "", invalid("room", "must have 1 to 128 bytes, without spaces and control characters")
	}
	return room, nil
}

// integer returns a number without its fraction, clamped to the limits; otherwise what it is if v is no number.
func integer(v value, otherwise, least, most int) int {
	n, is := v.(float64)
	if !is || math.IsNaN(n) {
		return otherwise
	}
	return int(math.Trunc(max(float64(least), min(float64(most), n))))
}
