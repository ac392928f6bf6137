package opsview

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Session is an open session.
type Session struct {
	Region   string `db:"region" json:"region"`
	Session  string `db:"session" json:"session"` // region.uuid, the id that callers know
	Mode     string `db:"mode" json:"mode"`
	Instance string `db:"instance" json:"instance"`
	// InstanceAlive: the incarnation that opened it holds its lease.
	InstanceAlive bool  `db:"instance_alive" json:"instance_alive"`
	Players       int32 `db:"players" json:"players"` // seats taken, reserved and connected
	// Connected stays 0 on game servers that do not report seats.
	Connected  int64     `db:"connected" json:"connected"`
	MaxPlayers int32     `db:"max_players" json:"max_players"`
	OpenedAt   time.Time `db:"opened_at" json:"opened_at"`
	// Age is in seconds.
	Age   float64    `db:"age" sql:"extract(epoch FROM age)::float8" json:"age"`
	ID    uuid.UUID  `db:"id" json:"-"`
	Match *uuid.UUID `db:"match" json:"-"` // nil: none
}

// Sessions are read in the order of region and id.
var Sessions = View[Session, SessionFilter]{name: "sessions", order: Order{"region", "id"}}

// SessionsLatestFirst is the order of sessions by when they were opened, the latest first.
var SessionsLatestFirst = Order{"-opened_at", "session"}

// SessionsOldestFirst is the order of sessions by when they were opened, the oldest first.
var SessionsOldestFirst = Order{"opened_at", "session"}

// SessionFilter selects open sessions. Empty fields select all.
type SessionFilter struct {
	Region, Mode, Instance string
	ID                     *uuid.UUID
}

func (f SessionFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	w.addEqual("mode", f.Mode)
	w.addEqual("instance", f.Instance)
	addID(w, "id", f.ID)
}

// PastSession is a session that has closed.
type PastSession struct {
	Region     string     `db:"region" json:"region"`
	Session    string     `db:"session" json:"session"` // region.uuid
	Mode       string     `db:"mode" json:"mode"`
	Instance   string     `db:"instance" json:"instance"`
	Players    int32      `db:"players" json:"players"` // seats still taken when it closed
	MaxPlayers int32      `db:"max_players" json:"max_players"`
	OpenedAt   time.Time  `db:"opened_at" json:"opened_at"`
	ClosedAt   time.Time  `db:"closed_at" json:"closed_at"`
	Reason     string     `db:"reason" json:"reason"`
	ID         uuid.UUID  `db:"id" json:"id"`
	Match      *uuid.UUID `db:"match" json:"match"` // nil: none
}

// PastSessions are read latest first. A session is looked up by region and id, in each partition by its key.
var PastSessions = View[PastSession, PastSessionFilter]{name: "past_sessions", order: Order{"-closed_at"}}

// PastSessionFilter selects a session.
type PastSessionFilter struct {
	Region string
	ID     uuid.UUID
}

func (f PastSessionFilter) selectRows(w *where) {
	w.addExact("region", f.Region)
	w.addExact("id", f.ID)
}

// SessionLifetime is a session that closed within the last 24 hours.
type SessionLifetime struct {
	Region     string        `db:"region" json:"region"`
	Session    string        `db:"session" json:"session"` // region.uuid
	Mode       string        `db:"mode" json:"mode"`
	Instance   string        `db:"instance" json:"instance"`
	OpenedAt   time.Time     `db:"opened_at" json:"opened_at"`
	ClosedAt   time.Time     `db:"closed_at" json:"closed_at"`
	Players    int32         `db:"players" json:"players"`
	MaxPlayers int32         `db:"max_players" json:"max_players"`
	Reason     string        `db:"reason" json:"reason"`
	Lifetime   time.Duration `db:"lifetime" json:"-"`
}

// SessionLifetimes are read latest first.
var SessionLifetimes = View[SessionLifetime, LifetimeFilter]{name: "session_lifetimes",
	order: Order{"-closed_at", "session"}}

// LifetimeFilter selects a session.
type LifetimeFilter struct{ Region, Session string }

func (f LifetimeFilter) selectRows(w *where) {
	w.addExact("region", f.Region)
	w.addExact("session", f.Session)
}

// Seat is a seat in an open session.
type Seat struct {
	Player      string     `db:"player" json:"player"`
	State       string     `db:"state" json:"state"` // reserved or connected
	Party       uuid.UUID  `db:"party" json:"party"`
	ReservedBy  string     `db:"reserved_by" json:"reserved_by"`
	ReservedAt  time.Time  `db:"reserved_at" json:"reserved_at"`
	ResolvedAt  *time.Time `db:"resolved_at" json:"resolved_at"`   // nil: its player has not fetched a session token
	ConnectedAt *time.Time `db:"connected_at" json:"connected_at"` // nil: not reported
	ExpiresAt   *time.Time `db:"expires_at" json:"expires_at"`     // when it is freed if nobody connects; nil: never
	Region      string     `db:"region" json:"-"`
	Session     string     `db:"session" json:"-"` // region.uuid
	SessionID   uuid.UUID  `db:"session_id" json:"-"`
	Instance    string     `db:"instance" json:"-"`
	Mode        string     `db:"mode" json:"-"`
	Match       *uuid.UUID `db:"match" json:"-"` // nil: none
	Team        string     `db:"team" sql:"coalesce(team, '')" json:"-"`
}

// Seats are read in the order of players. A session has at most 1,024.
var Seats = View[Seat, SeatFilter]{name: "seats", order: Order{"player"}}

// SeatsOfPlayer are the seats of a player, latest first, found by an index in each region.
var SeatsOfPlayer = View[Seat, SeatFilter]{
	name: "seats", order: Order{"-reserved_at"},
	each: group{from: "ops.regions g", on: "v.region = g.region", rowsPerGroup: 100},
}

// ByReservation is the order of seats by when they were reserved.
var ByReservation = Order{"reserved_at", "player"}

// SeatFilter selects seats. Empty fields select all.
type SeatFilter struct {
	Region    string
	SessionID *uuid.UUID
	Instance  string
	Player    string
}

func (f SeatFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	addID(w, "session_id", f.SessionID)
	w.addEqual("instance", f.Instance)
	w.addEqual("player", f.Player)
}

// PastSeat is a seat that was left.
type PastSeat struct {
	Region      string     `db:"region" json:"region"`
	Session     string     `db:"session" json:"session"` // region.uuid
	Mode        string     `db:"mode" json:"mode"`
	Player      string     `db:"player" json:"player"`
	Party       uuid.UUID  `db:"party" json:"party"`
	ReservedBy  string     `db:"reserved_by" json:"reserved_by"`
	ReservedAt  time.Time  `db:"reserved_at" json:"reserved_at"`
	ResolvedAt  *time.Time `db:"resolved_at" json:"resolved_at"`   // nil: never
	ConnectedAt *time.Time `db:"connected_at" json:"connected_at"` // nil: never
	LeftAt      time.Time  `db:"left_at" json:"left_at"`
	Reason      string     `db:"reason" json:"reason"`
	SessionID   uuid.UUID  `db:"session_id" json:"session_id"`
	Match       *uuid.UUID `db:"match" json:"match"` // nil: none
	Team        string     `db:"team" sql:"coalesce(team, '')" json:"team"`
}

// PastSeats are read latest first. Those of a player, or of a session, are found by an index.
var PastSeats = View[PastSeat, PastSeatFilter]{name: "past_seats", order: Order{"-left_at"}}

// ByPlayer is the order of the seats of a session.
var ByPlayer = Order{"player", "-left_at"}

// PastSeatFilter selects seats that were left. Empty fields select all.
type PastSeatFilter struct {
	Region    string
	SessionID *uuid.UUID
	Player    string
}

func (f PastSeatFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	addID(w, "session_id", f.SessionID)
	w.addEqual("player", f.Player)
}

// SessionHistory is what is known of a session: either OpenSession or PastSession is not nil.
type SessionHistory struct {
	OpenSession *Session
	PastSession *PastSession
	Seats       []Seat // of an open one, in the order of players
	// LeftSeats are the first 500 seats that players have left, in the order of players.
	LeftSeats   []PastSeat
	HasMoreLeft bool // further ones exist
}

// maxSeats is the most seats of a session.
const maxSeats = 1024

// ReadSession returns what is known of a session, open or past. Errors: ErrNoRow.
func ReadSession(ctx context.Context, q Querier, region string, id uuid.UUID) (h SessionHistory, err error) {
	err = h.readOpen(ctx, q, region, id)
	if errors.Is(err, ErrNoRow) {
		err = h.readPast(ctx, q, region, id)
	}
	if err != nil {
		return h, err
	}
	left := PastSeatFilter{Region: region, SessionID: &id}
	h.LeftSeats, h.HasMoreLeft, err = PastSeats.List(ctx, q, left, Page{Order: ByPlayer, Limit: MaxPage})
	return h, err
}

// readPast reads a session that has closed. Errors: ErrNoRow.
func (h *SessionHistory) readPast(ctx context.Context, q Querier, region string, id uuid.UUID) error {
	past, err := PastSessions.One(ctx, q, PastSessionFilter{region, id})
	if err != nil {
		return err
	}
	h.PastSession = &past
	return nil
}

// readOpen reads an open session and its seats. Errors: ErrNoRow.
func (h *SessionHistory) readOpen(ctx context.Context, q Querier, region string, id uuid.UUID) error {
	open, err := Sessions.One(ctx, q, SessionFilter{Region: region, ID: &id})
	if err != nil {
		return err
	}
	h.OpenSession = &open
	h.Seats, err = Seats.Read(ctx, q, SeatFilter{Region: region, SessionID: &id}, Page{Limit: maxSeats})
	return err
}
