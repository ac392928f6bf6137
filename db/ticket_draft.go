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

// weight bounds a batch of new tickets to about a mebibyte.
func (d *ticketDraft) weight() int { return 1 + len(d.body)/1024 }

// bytes counts the body twice: as the caller sent it, which stays in memory until the answer, and as it is stored.
func (d *ticketDraft) bytes() int {
	const term, double = 16, 24
	return 2*len(d.body) + term*len(d.matchRow.Terms) + double*len(d.matchRow.Doubles)
}

// NewTicket is a ticket to create.
type NewTicket struct {
	SearchFields match.Fields // that pools filter by; the store fills in Created
	// EncodeBody returns the body. It is called again, with another id, when the first id is in use.
	EncodeBody func(id string, created time.Time) []byte
	TTL        time.Duration // how long after its creation it expires; 0: never
	KeepAlive  bool          // [Store.KeepAlive] extends its life by another TTL
	Player     string        // may have one live ticket; "" for no limit
}
