package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// PlayerView is what is known of a player: where they are, where they were, and why they were refused.
type PlayerView struct {
	Seats    []ConsoleSeat      // latest first, at most 100 in all regions
	Refusals []PlayerRefusals   // latest first, at most 100
	Tickets  []PlayerTicketView // the latest for each profile, latest first, at most 100
	Lobby    []LobbySessionView // sessions of the realtime lobby, latest first, at most 100
	Past     []PastSeat         // a page, latest first
	PastMore bool
}

// PlayerTicketView is a ticket of a player as ops.player_tickets shows it.
type PlayerTicketView struct {
	Region    string // the universe
	Player    string
	Profile   string // empty for a ticket that names none
	Ticket    string
	JoinedAt  time.Time
	SeenAt    *time.Time // nil: the player has never asked for it
	State     string     // "": no longer known
	Reason    string
	Match     *uuid.UUID // nil: none
	ChangedAt time.Time
}

// LobbySessionView is a session of the realtime lobby as ops.realtime_sessions shows it.
type LobbySessionView struct {
	Region      string
	Session     string
	Project     string
	Player      string
	State       string // connected, cut off, suspended or expired
	Rooms       int64
	Invitations int64
	Ticket      *string // nil: it does not queue
	WaitsFor    *string // the type of room for which it queues
	CreatedAt   time.Time
	SuspendedAt *time.Time // nil while it is connected
}

// PlayerRefusals are refusals of a player as ops.refusals shows them.
type PlayerRefusals struct {
	Call      string
	Code      string
	Detail    string
	Region    string // "": none
	Mode      string // "": none
	Times     int64
	FirstAt   time.Time
	LastAt    time.Time
	RequestID string // "": none
}

// PlayerFilter selects a player. Universe is the region of tickets; Before, if not zero, is when the last seat of the page before was left.
type PlayerFilter struct {
	Player   string
	Universe string
	Before   time.Time
	Page     ConsolePage
}

// ConsolePlayer returns what is known of a player. A player of whom nothing is known has an empty view. Errors: TooMany, Unavailable.
func (s *Store) ConsolePlayer(ctx context.Context, f PlayerFilter) (v PlayerView, err error) {
	most := f.Page.rows()
	if f.Before.IsZero() {
		f.Before = endOfTime
	}
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		if err := v.readPresent(ctx, q, f); err != nil {
			return err
		}
		rows, err := q.ConsolePastSeatsOfPlayer(ctx, query.ConsolePastSeatsOfPlayerParams{Player: f.Player, Before: f.Before, Most: most + 1})
		for _, r := range rows {
			v.Past = append(v.Past, PastSeat(r))
		}
		return err
	})
	v.Past, v.PastMore = page(v.Past, most)
	return v, err
}

// endOfTime is after every time in the database.
var endOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

func (v *PlayerView) readPresent(ctx context.Context, q *query.Queries, f PlayerFilter) error {
	seats, err := q.ConsoleSeatsOfPlayer(ctx, f.Player)
	if err != nil {
		return err
	}
	for _, r := range seats {
		v.Seats = append(v.Seats, ConsoleSeat(r))
	}
	tickets, err := q.ConsoleTicketsOfPlayer(ctx, query.ConsoleTicketsOfPlayerParams{Region: f.Universe, Player: f.Player})
	if err != nil {
		return err
	}
	for _, r := range tickets {
		v.Tickets = append(v.Tickets, PlayerTicketView(r))
	}
	lobby, err := q.ConsoleLobbySessionsOfPlayer(ctx, f.Player)
	if err != nil {
		return err
	}
	for _, r := range lobby {
		v.Lobby = append(v.Lobby, LobbySessionView(r))
	}
	refusals, err := q.ConsoleRefusalsOfPlayer(ctx, f.Player)
	for _, r := range refusals {
		v.Refusals = append(v.Refusals, PlayerRefusals(r))
	}
	return err
}

// TicketStep is a state of a ticket as ops.ticket_states shows it.
type TicketStep struct {
	N      int32 // from 1
	At     time.Time
	State  string
	Reason string
	Match  *uuid.UUID // nil: none
}

// ConsoleTicketSteps returns the states of a ticket in their order, at most 200. A ticket of which no state is known has none. Errors:
// TooMany, Unavailable.
func (s *Store) ConsoleTicketSteps(ctx context.Context, universe, ticket string) (steps []TicketStep, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleTicketStates(ctx, query.ConsoleTicketStatesParams{Region: universe, Ticket: ticket})
		for _, r := range rows {
			steps = append(steps, TicketStep(r))
		}
		return err
	})
	return steps, err
}
