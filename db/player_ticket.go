package db

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/match"
)

// maxTicketsOfPlayer bounds the tickets that a player waits with at a time.
const maxTicketsOfPlayer = 16

// PlayerTicketRequest asks for a ticket with which a party waits for a match.
type PlayerTicketRequest struct {
	Caller string
	Party  []string // includes the caller; sorted, no player twice
	// IsVouched: a backend, or the room in which the Party is, vouches for it. If not, only the Caller says who is in it.
	IsVouched    bool
	Build        string   // of the Caller's client, which a valve may be for; "": not known
	ProfileNames []string // that the ticket asks for; sorted; none: every profile whose pool holds it
	SearchFields match.Fields
	// EncodeBody returns the ticket as it is stored. It is called again with another id when the transaction is repeated.
	EncodeBody func(id string, created time.Time) []byte
	BodyBytes  int // about how long the body is
	TTL        time.Duration
	// LeaseTTL is how long the ticket stays after a player has last read it; 0: until its TTL has passed.
	LeaseTTL       time.Duration
	IdempotencyKey string // "" for none
	RequestHash    []byte // of the body of the request
	// WaitingSince is since when the party counts as waiting; the zero value: from now on.
	WaitingSince time.Time
	// CallerLatencies are the latencies of a caller without a party, by region, which are remembered if a ticket is
	// created; nil: none are.
	CallerLatencies map[string]uint16
}

// PlayerTicketAnswer is the ticket of a [PlayerTicketRequest].
type PlayerTicketAnswer struct {
	ID        string
	CreatedAt time.Time // zero unless IsNew
	IsNew     bool      // this call created the ticket; false: it was there before
}

// arrival is the party before the valve of its universe.
func (r PlayerTicketRequest) arrival(universe string) arrival {
	return arrival{region: universe, build: r.Build, callerSub: r.Caller, partySubs: r.Party, isVouched: r.IsVouched}
}

// rowProfiles returns the profiles of the ticket's rows in ticket_players, where "" stands for every profile whose pool
// holds the ticket.
func (r PlayerTicketRequest) rowProfiles() []string {
	if len(r.ProfileNames) == 0 {
		return []string{""}
	}
	return r.ProfileNames
}

// asksFor reports whether a request asks for a profile of the rows of ticket_players.
func (r PlayerTicketRequest) asksFor(profile string) bool {
	return slices.Contains(r.rowProfiles(), profile)
}

// playerRows returns how many rows of ticket_players the ticket has.
func (r PlayerTicketRequest) playerRows() int { return len(r.Party) * len(r.rowProfiles()) }

func (r PlayerTicketRequest) bytes() int {
	return textBytes(r.Caller, r.IdempotencyKey) + textBytes(r.Party...) + textBytes(r.ProfileNames...) +
		len(r.RequestHash) + 2*r.BodyBytes
}

// PlayerTicket is a ticket as one of its players sees it.
type PlayerTicket struct {
	ID           string
	StateVersion int // the number of its state: each further state has the next one
	State        TicketState
	FinalReason  string    // of a final state, "" where it says enough
	Party        []string  // sorted
	ProfileNames []string  // sorted; nil once it has left the queue
	CreatedAt    time.Time // zero once it has left the queue, as is Body
	Body         []byte
	// LeaseTTL is by how much [Store.KeepAlive] extends its life; 0 where it does not, and once the ticket has left the
	// queue.
	LeaseTTL          time.Duration
	MatchID           string            // of a ready check or an assignment by the director; else ""
	ReadyCheck        *PlayerReadyCheck // in TicketAccepting
	MatchSeat         *MatchSeat        // in TicketAssigned, by the director
	EncodedAssignment []byte            // in TicketAssigned, by a client of Open Match: an openmatch.Assignment
	NextTicket        string            // with which the player waits since its match was evacuated; "": none
	ChangedAt         time.Time         // of the last change that was recorded
}

// PlayerReadyCheck is a match that waits for its players to accept it.
type PlayerReadyCheck struct {
	AnswerUntil   time.Time
	PlayerCount   int
	AcceptedCount int
	YouAccepted   bool // the player for whom the ticket was read has accepted
	IsDeclined    bool // a player of the ticket has declined: it leaves the queue when the ready check is judged
}

// MatchSeat is where a player plays.
type MatchSeat struct {
	SessionHandle string            `json:"session_handle"`
	Endpoint      string            `json:"endpoint"`
	Region        string            `json:"region"`
	Teams         map[string]string `json:"teams"` // by player
}

// TicketState is a state of a player's ticket.
type TicketState string

// The states. The last four are final.
const (
	TicketQueued           TicketState = "queued"
	TicketPaused           TicketState = "paused"
	TicketMatched          TicketState = "matched" // by a cycle of Open Match
	TicketAccepting        TicketState = "accepting"
	TicketWaitingForServer TicketState = "waiting_for_server"
	TicketAssigned         TicketState = "assigned"
	TicketDeclined         TicketState = "declined"
	TicketCancelled        TicketState = "cancelled"
	TicketExpired          TicketState = "expired"
)

// IsFinal reports whether the ticket has left the queue.
func (s TicketState) IsFinal() bool {
	return s == TicketAssigned || s == TicketDeclined || s == TicketCancelled || s == TicketExpired
}

// The reasons of final states that this package writes.
const (
	reasonByMember  = "cancelled_by_member"
	reasonElsewhere = "member_queued_elsewhere"
	reasonTTL       = "ttl"
	reasonRetired   = "profile_retired"
	reasonDeleted   = "deleted" // by a client of Open Match
)

// readyCheckOf returns the match in a ticket's mark if a loop of the director proposed it; ours is false for the mark
// of a cycle of Open Match.
func readyCheckOf(mark []byte) (id uuid.UUID, ours bool) {
	rest, ours := bytes.CutPrefix(mark, readyCheckPrefix)
	if !ours || len(rest) != len(id) {
		return id, false
	}
	return uuid.UUID(rest), true
}

// storedTicket is the answer that is kept with an idempotency key.
type storedTicket struct {
	ID string `json:"ticket_id"`
}

// TicketFacts are the fields of a ticket that the history keeps.
type TicketFacts struct {
	Party                 []string // its players, or pseudonyms of them
	Attributes, Latencies []byte   // JSON; nil for nothing
}
