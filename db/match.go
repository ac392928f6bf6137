package db

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
)

// NewMatch is a decided match on its way to be committed, or proposed to its players, by the owner of its profile. Its
// JSON is stored while it is proposed.
type NewMatch struct {
	ID        uuid.UUID `json:"id"`
	Profile   string    `json:"profile"`
	Version   int       `json:"version"` // of the profile
	Seed      uint64    `json:"seed"`    // of the decision
	DecidedAt time.Time `json:"decided_at"`
	// Modes that the session may have: the first with a host wins. Without any, the match has no session and no seats.
	Modes []string `json:"modes,omitempty"`
	// Regions are game regions, best first. A commit is for one of them; the owner tries the next after MatchNoHost.
	Regions []string        `json:"regions,omitempty"`
	Size    int             `json:"size"` // seats of the session
	Tickets []MatchTicket   `json:"tickets"`
	Data    json.RawMessage `json:"data,omitempty"` // for the game server; nil for none
	// Chosen has values that rules chose, for the game server: an object; nil for none.
	Chosen json.RawMessage `json:"chosen,omitempty"`
	// FillTo is the number of players to which bots fill each team, by its name: an object; nil: no bots.
	FillTo json.RawMessage `json:"fill_to,omitempty"`
	Why    json.RawMessage `json:"why,omitempty"` // explains the decision: an object of at most 4 KiB
	// Join is the id of the session that the players join; empty for a session of their own.
	Join string `json:"join,omitempty"`
	// Beside are the players of that session when the match was decided. The match is refused if others have come, and
	// not if some have left; nil is not checked.
	Beside []string `json:"beside,omitempty"`
	// Accepted says that the players accepted this match in a ready check: the marks of its proposal are free for it.
	Accepted bool `json:"-"`
	// Mark is the mark that a cycle has put on the tickets of this match ([CycleRef.Mark]): they may be committed in
	// it. Nil: none.
	Mark []byte `json:"-"`
	// Demand names the row of demand, in the game region of the commit, that counts this match; zero: none does.
	Demand DemandKey `json:"-"`
}

// MatchTicket is a ticket of a match.
type MatchTicket struct {
	ID string `json:"id"`
	// Tx is tickets.tx when the match was decided: a ticket that has changed since is not matched. 0 is not checked.
	Tx      uint64         `json:"tx,omitempty"`
	Players []MatchPlayer  `json:"players"`           // the party
	History *TicketHistory `json:"history,omitempty"` // nil: none is kept
}

// MatchPlayer is a player in a match.
type MatchPlayer struct {
	Sub  string          `json:"sub"`
	Team string          `json:"team,omitempty"`
	Role string          `json:"role,omitempty"` // empty for none
	Told json.RawMessage `json:"told,omitempty"` // attributes that the game server sees: an object; nil for none
	// Sources say who vouches for attributes of Told, claim or backend, by name; the others are the client's word.
	Sources map[string]string `json:"sources,omitempty"`
}

// TicketHistory is what is remembered of a ticket beside what its row says.
type TicketHistory struct {
	SeenAt     time.Time       `json:"seen_at"` // when a worker first had the ticket as a candidate; zero if unknown
	Profiles   []string        `json:"profiles"`
	Party      []string        `json:"party"` // players, hashed where attributes are
	Attributes json.RawMessage `json:"attributes,omitempty"`
	Latencies  json.RawMessage `json:"latencies,omitempty"`
}

// DemandKey names a row of demand: servers that matches of a region wait for.
type DemandKey struct{ Mode, Key string }

// MatchOwner is the right of a worker to decide for a profile, with the epoch at which it took the profile over.
type MatchOwner struct {
	Universe    string
	WorkerID    uuid.UUID
	ProfileName string
	Epoch       int64
}

// MatchOutcomeKind is what became of a match.
type MatchOutcomeKind int

// The kinds of outcomes.
const (
	// MatchPlayersBusy: other transactions decide about the players in BusyPlayers or, where there are none, about all
	// hosts that have room. Nothing was decided: try again.
	MatchPlayersBusy MatchOutcomeKind = iota
	// MatchCommitted: the tickets are assigned, and the players have seats.
	MatchCommitted
	// MatchProposed: the tickets wait for the players' answers.
	MatchProposed
	// MatchNoHost: no host of this region has room in any mode of the match, by a snapshot that was taken after the
	// attempt.
	MatchNoHost
	// MatchTicketsGone: tickets in GoneTickets are deleted, assigned, paused, in another match, or have changed since
	// the match was decided.
	MatchTicketsGone
	// MatchRefused: the match cannot be committed as it is, for the RefusalReason.
	MatchRefused
	// MatchBad: Postgres refused the data of the match; Err says why.
	MatchBad
)

// String returns the name of the kind in logs and metrics.
func (k MatchOutcomeKind) String() string {
	return [...]string{"players_busy", "committed", "proposed", "no_host", "tickets_gone", "refused", "bad"}[k]
}

// Reasons of MatchRefused.
const (
	// RefusedSeated: players in BusyPlayers resolved another seat of this mode, or sit in the session to join.
	RefusedSeated      = "seated"
	RefusedSessionGone = "session_gone"     // the session to join is closed, takes no players, or is of no match
	RefusedSessionFull = "session_full"     // the session to join, or its roster, has no room for the players
	RefusedRoster      = "roster_changed"   // the session to join has players who are not in Beside
	RefusedUnaccepted  = "proposal_expired" // the accepted proposal of this match has ended
)

// MatchOutcome is what became of a match.
type MatchOutcome struct {
	Kind             MatchOutcomeKind
	SessionPlacement Placement    // where the players are seated; zero for a match without seats
	MatchID          uuid.UUID    // the match that plays in the session, which is another one where the players joined
	LeftTickets      []LeftTicket // with MatchCommitted: the tickets whose history is kept
	GoneTickets      []string     // with MatchTicketsGone: ids
	BusyPlayers      []string     // with MatchPlayersBusy and RefusedSeated: subs
	RefusalReason    string       // with MatchRefused
	Err              error        // with MatchBad
}

// Bounds of one transaction of the loop, which other transactions may wait for.
const (
	maxBatchMatches = 256
	maxBatchPlayers = 2048
	maxBatchBytes   = 1 << 20
)

// mark returns the mark of tickets that are already in this match; nil: no ticket is.
func (m *NewMatch) mark() []byte {
	if m.Accepted {
		return readyCheckMark(m.ID)
	}
	return m.Mark
}

// players returns all players of a match.
func (m *NewMatch) players() (subs []string) {
	for _, t := range m.Tickets {
		subs = append(subs, t.subs()...)
	}
	return subs
}

func (m *NewMatch) ticketIDs() []string {
	ids := make([]string, len(m.Tickets))
	for i, t := range m.Tickets {
		ids[i] = t.ID
	}
	return ids
}

func (t MatchTicket) subs() []string {
	subs := make([]string, len(t.Players))
	for i, p := range t.Players {
		subs[i] = p.Sub
	}
	return subs
}

// sourceBytes is about how much an entry of Sources takes: the name of an attribute and who vouches for it.
const sourceBytes = 80

// bytes estimates what the match adds to a transaction.
func (m *NewMatch) bytes() int {
	n := len(m.Data) + len(m.Chosen) + len(m.FillTo) + len(m.Why)
	for _, t := range m.Tickets {
		n += textBytes(t.ID)
		for _, p := range t.Players {
			// The sub, team and role of a player are in a seat and in the roster.
			n += 2*textBytes(p.Sub, p.Team, p.Role) + len(p.Told) + sourceBytes*len(p.Sources)
		}
		if h := t.History; h != nil {
			n += textBytes(h.Profiles...) + textBytes(h.Party...) + len(h.Attributes) + len(h.Latencies)
		}
	}
	return n
}

// readyCheckMark returns the mark of the tickets of a match that is proposed to its players. Marks of matches of a
// cycle begin with the id of the cycle.
func readyCheckMark(match uuid.UUID) []byte {
	return append(slices.Clone(readyCheckPrefix), match[:]...)
}

// readyCheckPrefix begins the mark of a ticket in a ready check; the id of the match follows.
var readyCheckPrefix = []byte("loop")

// LeftTicket is a ticket that left the queue in a match, as its history has it.
type LeftTicket struct {
	Ticket       MatchTicket
	CreatedNanos int64 // Unix nanoseconds, as tickets.created
	LeftAt       time.Time
	ProfileName  string // the profile that matched it
	MatchID      uuid.UUID
}
