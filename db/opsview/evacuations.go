package opsview

import (
	"time"

	"github.com/google/uuid"
)

// Evacuation is an evacuation of a region, a host or a label, with what became of the players.
type Evacuation struct {
	ID      uuid.UUID `db:"evacuation" json:"evacuation"`
	State   string    `db:"state" json:"state"`     // running or ended
	Target  string    `db:"target" json:"target"`   // region, host or label
	Value   string    `db:"value" json:"value"`     // a label as key=value
	Region  string    `db:"region" json:"region"`   // empty: all
	Requeue bool      `db:"requeue" json:"requeue"` // players wait again, or get seats elsewhere
	Dead    bool      `db:"dead" json:"dead"`       // game servers that still report end as well
	// SeatsIn is the region in which players without a ticket get seats; empty: their own.
	SeatsIn      string        `db:"seats_in" json:"seats_in"`
	Servers      int64         `db:"servers" json:"servers"`
	ServersLeft  int64         `db:"servers_left" json:"servers_left"` // that still have sessions
	ServersEnded int64         `db:"servers_ended" json:"servers_ended"`
	Players      int64         `db:"players" json:"players"` // who have lost their seats: the sum of the next four
	Waiting      int64         `db:"waiting" json:"waiting"` // not decided yet
	Queued       int64         `db:"queued" json:"queued"`
	Seated       int64         `db:"seated" json:"seated"`
	Nothing      int64         `db:"nothing" json:"nothing"`
	Actor        string        `db:"actor" json:"actor"`
	Reason       string        `db:"reason" json:"reason"` // empty: none was given
	BegunAt      time.Time     `db:"begun_at" json:"begun_at"`
	EndedAt      *time.Time    `db:"ended_at" json:"ended_at"` // nil: it is running
	Took         time.Duration `db:"took" json:"-"`
}

// Evacuations are read latest first.
var Evacuations = View[Evacuation, EvacuationFilter]{name: "evacuations", order: Order{"-begun_at", "evacuation"}}

// EvacuationFilter selects an evacuation; nil selects all.
type EvacuationFilter struct{ ID *uuid.UUID }

func (f EvacuationFilter) selectRows(w *where) { addID(w, "evacuation", f.ID) }

// EvacuatedPlayer is a seat that a player has lost in an evacuation, and what the player has instead.
type EvacuatedPlayer struct {
	Evacuation uuid.UUID `db:"evacuation" json:"evacuation"`
	Region     string    `db:"region" json:"region"`
	Instance   string    `db:"instance" json:"instance"`
	Session    string    `db:"session" json:"session"` // as region.uuid
	Player     string    `db:"player" json:"player"`
	Mode       string    `db:"mode" json:"mode"`
	Outcome    string    `db:"outcome" json:"outcome"` // waiting, queued, seated or nothing
	// Why is a code for why the player has less than the evacuation should give; empty: it has that.
	Why string `db:"why" json:"why"`
	// Waited is how long the player had waited for the match that ended; nil: without a ticket, or not known.
	Waited      *time.Duration `db:"waited" json:"waited"`
	Ticket      *string        `db:"ticket" json:"ticket"`             // nil: the player had none
	NextTicket  *string        `db:"next_ticket" json:"next_ticket"`   // nil: none
	NextSession *string        `db:"next_session" json:"next_session"` // as region.uuid; nil: none
	SeatedAt    time.Time      `db:"seated_at" json:"seated_at"`
	ReleasedAt  time.Time      `db:"released_at" json:"released_at"`
	DecidedAt   *time.Time     `db:"decided_at" json:"decided_at"` // nil: not yet
}

// EvacuatedPlayers are read in the order of game servers, sessions and players.
var EvacuatedPlayers = View[EvacuatedPlayer, EvacuatedPlayerFilter]{name: "evacuated_players",
	order: Order{"region", "instance", "session", "player"}}

// EvacuatedPlayerFilter selects players of an evacuation. Empty fields select all.
type EvacuatedPlayerFilter struct {
	Evacuation *uuid.UUID
	Outcome    string
	Player     string
}

func (f EvacuatedPlayerFilter) selectRows(w *where) {
	addID(w, "evacuation", f.Evacuation)
	w.addEqual("outcome", f.Outcome)
	w.addEqual("player", f.Player)
}
