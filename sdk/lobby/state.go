package lobby

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// State is what a client knows of a room: a JSON object whose values change as a whole, and its members. A State
// never changes: [Room.State] returns the present one.
type State struct {
	Seq      int64 // counts the changes; 0: the client is no member
	Values   map[string]json.RawMessage
	Sessions []string // of the members, sorted
}

// Decode decodes the value of a key into into. It returns false if there is none, or it has another type.
func (s State) Decode(key string, into any) bool {
	return json.Unmarshal(s.Values[key], into) == nil
}

// Text returns a value that is a string, such as that of "phase", otherwise "".
func (s State) Text(key string) (text string) {
	s.Decode(key, &text)
	return text
}

// Member is a member of a party, a lobby or a match.
type Member struct {
	Name   string         `json:"name"`
	Player string         `json:"player"` // in a match
	Team   any            `json:"team"`   // in a lobby: a string, a number or nil
	Ready  bool           `json:"ready"`  // in a lobby
	Away   bool           `json:"away"`   // its connection has ended, and its session has not
	Data   map[string]any `json:"data"`   // what it shows of itself
}

// memberPrefix is that of the keys of members.
const memberPrefix = "m:"

// Members returns the members of a party, a lobby or a match, by session.
func (s State) Members() map[string]Member {
	members := map[string]Member{}
	for key := range s.Values {
		var m Member
		if session, is := strings.CutPrefix(key, memberPrefix); is && s.Decode(key, &m) {
			members[session] = m
		}
	}
	return members
}

// Equal reports whether two states have the same Seq and the same values, compared byte by byte. Members are not
// compared.
func (s State) Equal(other State) bool {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	return s.Seq == other.Seq && maps.EqualFunc(s.Values, other.Values, same)
}
