package match

import "time"

// Ticket is a queued request for a match, in the form that the director loop uses for all clients: with its players and
// their attributes. It is immutable, so goroutines may share it.
type Ticket struct {
	ID      string
	Created time.Time // by the database's clock, with nanosecond precision; it orders the queue
	Fields  Fields    // the fields that pools filter by
	// Profiles are the names of the profiles that the ticket requests. Empty: every profile whose pool holds it.
	Profiles []string
	// Players are the members of the party, sorted by Sub. A ticket without players is never a candidate.
	Players []Player
	// Latencies are in milliseconds, 0 to 10,000, by game region. A missing region was not measured.
	Latencies map[string]uint16
	// ClaimedLatencies are those that the client says, of regions where another latency counts; nil: none.
	ClaimedLatencies map[string]uint16
}

// Mean returns the mean of a number over the players of the ticket; players without it count as 0. A ticket without
// players has mean 0.
func (t *Ticket) Mean(name string) float64 {
	var sum float64
	for _, p := range t.Players {
		if v := p.Attributes[name]; v.Kind == Number {
			sum += v.Number
		}
	}
	return sum / float64(max(1, len(t.Players)))
}

// Player is a member of a ticket's party.
type Player struct {
	Sub string
	// Attributes are the player's own and, for names that the player does not have, the ticket's.
	Attributes Attributes
	// Sources say who vouches for the attributes, by name.
	Sources map[string]Source
	// Source vouches for the attributes that Sources does not name: the client, unless the whole ticket is a backend's.
	Source Source
}

// SourceOf returns who vouches for an attribute of the player.
func (p *Player) SourceOf(attribute string) Source {
	if s, ok := p.Sources[attribute]; ok {
		return s
	}
	return p.Source
}

// Attributes are the values that rules compare, by name.
type Attributes map[string]Value

// Bounds of attributes. Every protocol's server refuses more.
const (
	MaxAttributes     = 64      // attributes of a player
	MaxAttributeBytes = 8 << 10 // Bytes of a ticket's attributes and those of its players
)

// Bytes counts the bytes of names and values.
func (a Attributes) Bytes() (n int) {
	for name, v := range a {
		n += len(name) + v.Bytes()
	}
	return n
}

// Value is the value of an attribute. The zero value is invalid.
type Value struct {
	Kind   Kind
	Number float64  // if Kind is Number; finite
	Text   string   // if Kind is Text
	List   []string // if Kind is List
}

// Kind is the type of an attribute's value.
type Kind uint8

// The types of attributes.
const (
	Number Kind = iota + 1
	Text
	List // texts, in order of preference
)

// Plain returns the value as JSON has it: a float64, a string or a []string that is not nil.
func (v Value) Plain() any {
	switch v.Kind {
	case Number:
		return v.Number
	case Text:
		return v.Text
	default:
		return append([]string{}, v.List...)
	}
}
