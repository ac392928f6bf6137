package match

import "time"

// Ticket is a queued request for a match as the director loop sees it: with its players and their attributes, whatever
// client made it. It is never changed after it was made, so that goroutines may share it.
type Ticket struct {
	ID      string
	Created time.Time // of the database's clock, to the nanosecond; the ticket's place in the queue
	Fields  Fields    // what pools choose by
	// Profiles are the names of those that the ticket asks for; empty: every profile whose pool holds it.
	Profiles []string
	// Players are the party, sorted by Sub. A ticket without players is no candidate.
	Players []Player
	// Latencies are in milliseconds, 0 to 10,000, by game region. A region that is missing was not measured.
	Latencies map[string]uint16
}

// Player is a member of a ticket's party.
type Player struct {
	Sub string
	// Attributes are the player's own and, for names that it does not have, the ticket's.
	Attributes Attributes
}

// Attributes are the values that rules compare, by name.
type Attributes map[string]Value

// Value is the value of an attribute. The zero value is not a valid one.
type Value struct {
	Kind   Kind
	Number float64 // of a Number: finite
	Text   string  // of a Text
	List   []string
}

// Kind is the type of an attribute's value.
type Kind uint8

// The types of attributes.
const (
	Number Kind = iota + 1
	Text
	List // texts, in order of preference
)
