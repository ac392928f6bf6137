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
	lastMessage heardMessage // the last one
}

// heardMessage is where a message is in the order of its room: position counts from 1.
type heardMessage struct{ logPosition, entryIndex int64 }

// applyPatch changes the values of a room in a map that no caller has.
func (m *membership) applyPatch(next change) {
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

// change is a snapshot or a patch of a state.
type change struct {
	Seq    int64                      `json:"seq"`
	Values map[string]json.RawMessage `json:"state"` // of a snapshot
	Ops    []struct {
		Op    string          `json:"op"`   // set or del
		Path  string          `json:"path"` // "/" and the key
		Value json.RawMessage `json:"value"`
	} `json:"ops"`
}

// JoinOptions are what a member says of itself, and what a member that makes a room says of that. The zero value leaves
// everything to the type of the room.
type JoinOptions struct {
	Name string `json:"name,omitempty"` // how parties, lobbies and matches call the member
	// Private and MaxMembers are of a new room. Private: only invited players join, and the list of rooms does not have
	// it.
	Private    *bool          `json:"private,omitempty"`
	MaxMembers int            `json:"max_members,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"` // of a new room: what the list shows of it
	Data       map[string]any `json:"data,omitempty"`     // what all members see of this one, such as its character
	Topic      string         `json:"topic,omitempty"`    // of a new chat
	Settings   map[string]any `json:"settings,omitempty"` // of a new lobby
}
