package lobby

import (
	"encoding/json"
	"maps"
	"strings"
)

// membership is what a client knows of a room in which its session is.
type membership struct {
	roomType    string
	joinOptions JoinOptions
	wasJoined   bool // by this client, which can join it again
	lastState   State
	hasState    bool         // a snapshot has arrived
	isLent      bool         // a caller has the map of the state's values: the next patch changes a copy
	lastMessage heardMessage // the newest that the client has received
}

// heardMessage is the ID of a [Message], its place in the order of the room: a position in the room's log, and the
// index among the messages of that position, from 0.
type heardMessage struct{ logPosition, entryIndex int64 }

// applyPatch changes the values of a room in a map that no caller has.
func (m *membership) applyPatch(next stateChange) {
	if m.isLent {
		m.lastState.Values, m.isLent = maps.Clone(m.lastState.Values), false
	}
	if m.lastState.Values == nil {
		m.lastState.Values = map[string]json.RawMessage{}
	}
	for _, op := range next.Ops {
		key := unescape.Replace(strings.TrimPrefix(op.Path, "/"))
		if op.Op == "del" {
			delete(m.lastState.Values, key)
		} else {
			m.lastState.Values[key] = op.Value
		}
	}
	m.lastState.Seq = next.Seq
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// stateChange is a snapshot or a patch of a state.
type stateChange struct {
	Seq    int64                      `json:"seq"`
	Values map[string]json.RawMessage `json:"state"` // of a snapshot
	Ops    []struct {
		Op    string          `json:"op"`   // set or del
		Path  string          `json:"path"` // "/" and the key
		Value json.RawMessage `json:"value"`
	} `json:"ops"`
}
