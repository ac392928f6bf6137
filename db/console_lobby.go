package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// LobbyTotals are the numbers of the realtime lobby in a region, as ops.realtime shows them.
type LobbyTotals struct {
	Region      string
	Replicas    int64
	Connected   int64 // sessions with a connection
	Suspended   int64
	Rooms       int64
	Members     int64
	Invitations int64
	Waiting     int64 // sessions that wait for a match
}

// ConsoleRealtime returns the numbers of the realtime lobby, at most 100 regions. Errors: TooMany, Unavailable.
func (s *Store) ConsoleRealtime(ctx context.Context) (totals []LobbyTotals, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleRealtime(ctx)
		for _, r := range rows {
			totals = append(totals, LobbyTotals(r))
		}
		return err
	})
	return totals, err
}

// LobbyRoom is a room of the realtime lobby as ops.lobbies shows it.
type LobbyRoom struct {
	Region     string
	Project    string
	Room       string // its id, unique in the project
	Type       string
	Members    int32
	Away       int64 // members without a connection
	Invited    int64
	MaxMembers int32
	Private    bool
	Locked     bool
	Match      *uuid.UUID // nil: none made it
	Session    string     // region.uuid; "": none
	CreatedAt  time.Time
	ClosesAt   *time.Time // nil: it has members or invitations
}

// LobbyFilter selects rooms of the realtime lobby. Empty fields select all.
type LobbyFilter struct {
	Project string
	Text    string    // the beginning of their ids, or their type
	After   [3]string // region, project and id of the last row of the page before
	Page    ConsolePage
}

// ConsoleLobbies returns a page of rooms in the order of region, project and id, and whether more follow. Errors: TooMany, Unavailable.
func (s *Store) ConsoleLobbies(ctx context.Context, f LobbyFilter) (rooms []LobbyRoom, more bool, err error) {
	most := f.Page.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleLobbies(ctx, query.ConsoleLobbiesParams{
			Project: f.Project, Text: f.Text, AfterRegion: f.After[0], AfterProject: f.After[1], After: f.After[2], Most: most + 1,
		})
		for _, r := range rows {
			rooms = append(rooms, LobbyRoom(r))
		}
		return err
	})
	rooms, more = page(rooms, most)
	return rooms, more, err
}
