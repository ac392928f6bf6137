package db

import (
	"time"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/match"
)

// Queueing says how sessions of the realtime lobby wait for a match.
type Queueing struct {
	Universe string // the region that is the queue
	// LeaseTTL is how long a ticket stays in the queue after [Store.KeepAlive] was last called for it.
	LeaseTTL  time.Duration
	TicketTTL time.Duration // from the creation of a ticket to its expiry; 0: it stays while its sessions live
	// EncodeDraft makes the body of a ticket. Errors: Invalid for attributes or latencies outside their limits.
	EncodeDraft func(d QueueDraft) (QueueBody, error)
}

// QueueDraft is a ticket of sessions that is to be encoded.
type QueueDraft struct {
	ProfileName string // whose queue it is for
	Bucket      string // of a built-in profile, which matches only tickets with the same one; "" for other profiles
	Players     []string
	LobbyQueue  lobby.Queue
	// ClaimedLatencies are what the client claims, by region, where LobbyQueue has another latency; nil: none.
	ClaimedLatencies map[string]uint16
}

// QueueBody is an encoded ticket.
type QueueBody struct {
	SearchFields match.Fields
	EncodeBody   func(id string, created time.Time) []byte
	Bytes        int // of the body, about
	// JudgedTicket makes the ticket that a profile judges. It is called for profiles that are not built in; nil: no
	// profile judges this ticket.
	JudgedTicket func(created time.Time) (*match.Ticket, error)
}

func (q *Queueing) ttl() time.Duration {
	if q.TicketTTL > 0 {
		return q.TicketTTL
	}
	return forEver
}

// forEver is the TTL of tickets that stay while their sessions live.
const forEver = 10 * 365 * 24 * time.Hour
