package db

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// ConsoleSession is an open session as ops.sessions shows it.
type ConsoleSession struct {
	Region        string
	ID            uuid.UUID
	Session       string // region.uuid, the id that callers know
	Mode          string
	Instance      string
	InstanceAlive bool  // the incarnation that opened it holds its lease
	Players       int32 // seats taken, reserved and connected
	Connected     int64 // stays 0 on game servers that do not report seats
	MaxPlayers    int32
	OpenedAt      time.Time
	Match         *uuid.UUID // nil: none
}

// PastSession is a session that has closed, as ops.past_sessions shows it.
type PastSession struct {
	Region     string
	ID         uuid.UUID
	Session    string // region.uuid
	Mode       string
	Instance   string
	Players    int32 // seats still taken when it closed
	MaxPlayers int32
	OpenedAt   time.Time
	ClosedAt   time.Time
	Reason     string
	Match      *uuid.UUID // nil: none
}

// ConsoleSeat is a seat as ops.seats shows it.
type ConsoleSeat struct {
	Region      string
	Session     string // region.uuid
	Instance    string
	Mode        string
	Player      string
	State       string // reserved or connected
	Party       uuid.UUID
	ReservedBy  string
	ReservedAt  time.Time
	ResolvedAt  *time.Time // nil: its player has not fetched a session token
	ConnectedAt *time.Time // nil: not reported
	ExpiresAt   *time.Time // when it is freed if nobody connects; nil: never
	Match       *uuid.UUID // nil: none
	Team        string
}

// PastSeat is a seat that was left, as ops.past_seats shows it.
type PastSeat struct {
	Region      string
	Session     string // region.uuid
	Mode        string
	Player      string
	Party       uuid.UUID
	ReservedBy  string
	ReservedAt  time.Time
	ResolvedAt  *time.Time // nil: never
	ConnectedAt *time.Time // nil: never
	LeftAt      time.Time
	Reason      string
	Match       *uuid.UUID // nil: none
	Team        string
}

// SessionFilter selects open sessions. Empty fields select all.
type SessionFilter struct {
	Region, Mode string
	// AfterRegion and After are the region and the id of the last row of the page before.
	AfterRegion string
	After       uuid.UUID
	Page        ConsolePage
}

// ConsoleSessions returns a page of open sessions in the order of region and id, and whether more follow. Errors: TooMany, Unavailable.
func (s *Store) ConsoleSessions(ctx context.Context, f SessionFilter) (sessions []ConsoleSession, more bool, err error) {
	most := f.Page.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleSessions(ctx, query.ConsoleSessionsParams{Region: f.Region, Mode: f.Mode, AfterRegion: f.AfterRegion, After: f.After, Most: most + 1})
		for _, r := range rows {
			sessions = append(sessions, ConsoleSession(r))
		}
		return err
	})
	sessions, more = page(sessions, most)
	return sessions, more, err
}

// ConsoleSessionsOfInstance returns a page of the open sessions of a game server in the order of their ids, after an id, and whether more
// follow. Errors: TooMany, Unavailable.
func (s *Store) ConsoleSessionsOfInstance(ctx context.Context, region, instance string, after uuid.UUID, size ConsolePage) (sessions []ConsoleSession, more bool, err error) {
	most := size.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleSessionsOfInstance(ctx, query.ConsoleSessionsOfInstanceParams{Region: region, Instance: instance, After: after, Most: most + 1})
		for _, r := range rows {
			sessions = append(sessions, ConsoleSession(r))
		}
		return err
	})
	sessions, more = page(sessions, most)
	return sessions, more, err
}

// SessionView is what is known of a session: either Open or Past is not nil.
type SessionView struct {
	Open  *ConsoleSession
	Past  *PastSession
	Seats []ConsoleSeat // of an open one, in the order of players: the most a session has is 1,024
	// Left are its first 500 seats that were left, in the order of players; LeftMore says that there are more.
	Left     []PastSeat
	LeftMore bool
}

// ConsoleSession returns a session, given as region.uuid, with its seats. Errors: Invalid; NotFound, "session_unknown"; TooMany;
// Unavailable.
func (s *Store) ConsoleSession(ctx context.Context, id string) (v SessionView, err error) {
	region, room, err := ParseSessionID(id)
	if err != nil {
		return v, err
	}
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		if err := v.read(ctx, q, region, room); err != nil {
			return err
		}
		rows, err := q.ConsolePastSeats(ctx, query.ConsolePastSeatsParams{Region: region, ID: room, Most: MaxConsolePage + 1})
		for _, r := range rows {
			v.Left = append(v.Left, PastSeat(r))
		}
		return err
	})
	v.Left, v.LeftMore = page(v.Left, MaxConsolePage)
	if errors.Is(err, pgx.ErrNoRows) {
		return v, fault.New(fault.NotFound, "session_unknown", "no session %s: closed ones are forgotten after some time", id)
	}
	return v, err
}

// read fills in Open and Seats, or Past.
func (v *SessionView) read(ctx context.Context, q *query.Queries, region string, room uuid.UUID) error {
	open, err := q.ConsoleSession(ctx, query.ConsoleSessionParams{Region: region, ID: room})
	if errors.Is(err, pgx.ErrNoRows) {
		past, err := q.ConsolePastSession(ctx, query.ConsolePastSessionParams{Region: region, ID: room})
		v.Past = (*PastSession)(&past)
		return err
	}
	if err != nil {
		return err
	}
	v.Open = (*ConsoleSession)(&open)
	rows, err := q.ConsoleSeats(ctx, query.ConsoleSeatsParams{Region: region, ID: room})
	for _, r := range rows {
		v.Seats = append(v.Seats, ConsoleSeat(r))
	}
	return err
}
