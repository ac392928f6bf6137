package db

import (
	"time"

	"github.com/lattice-director/director/match"
)

// ticketDraft is a new ticket that is not stored yet.
type ticketDraft struct {
	newTicket NewTicket

	id        string
	createdAt time.Time
	matchRow  match.Row
	body      []byte
}

// weight is the size of the body in KiB, and one for the ticket: with a MaxWeight of 1024, a batch has at most about a
// MiB.
func (d *ticketDraft) weight() int { return 1 + len(d.body)/1024 }

// bytes counts the body twice: as the caller sent it, which stays in memory until the answer, and as it is stored.
func (d *ticketDraft) bytes() int {
	const termBytes, doubleBytes = 16, 16 + 8 // a UUID; the UUID of a key and a float64
	return 2*len(d.body) + termBytes*len(d.matchRow.Terms) + doubleBytes*len(d.matchRow.Doubles)
}

// NewTicket is a ticket to create.
type NewTicket struct {
	SearchFields match.Fields // that pools filter by; the store fills in Created
	// EncodeBody returns the body. It is called again, with another id, when the first id is in use.
	EncodeBody func(id string, created time.Time) []byte
	TTL        time.Duration // how long after its creation the ticket expires; 0: never
	KeepAlive  bool          // [Store.KeepAlive] extends the ticket's life by another TTL
	Player     string        // whose ticket it is, of whom there may be one live ticket; "": any number
}
