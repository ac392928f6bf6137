package db

import (
	"context"
	"encoding/json"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// LobbyQuery asks for a page of the rooms of a project, by id.
type LobbyQuery struct {
	Region, ProjectID string
	RoomType          string // "": all types
	AfterRoom         string // the Next of the page before; "": the first page
	Limit             int    // 1 to 1,000; others mean 1,000
}

// LobbyPage is a page of rooms. A page may have fewer rooms than its limit, or none, and still be followed by another.
type LobbyPage struct {
	Rooms    []lobby.Listed // decoded
	NextRoom string         // "": it is the last page
}

const (
	maxLobbyPage = 1000
	// lobbiesSeen is how many rooms a page looks at for each one that it may return: others are private, or of another
	// type.
	lobbiesSeen = 10
)

// ListLobbies returns a page of the rooms of a project that are not private. Errors: TooMany, Unavailable.
func (s *Store) ListLobbies(ctx context.Context, q LobbyQuery) (page LobbyPage, err error) {
	// Texts that no row can have: Postgres would refuse the statement.
	if !isStorable(q.ProjectID) || !isStorable(q.RoomType) || !isStorable(q.AfterRoom) {
		return LobbyPage{}, nil
	}
	limit := q.Limit
	if limit < 1 || limit > maxLobbyPage {
		limit = maxLobbyPage
	}
	p := query.ListLobbiesParams{
		Region: q.Region, Project: q.ProjectID, After: q.AfterRoom, OfType: q.RoomType, Page: int32(limit),
		// Bounds the work of a statement whose filter passes few rooms: the page then ends early, with a Next.
		MostSeen: int32(limit * lobbiesSeen),
	}
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ListLobbies(ctx, p)
		page = lobbyPage(rows, p)
		return err
	})
	return page, err
}

func lobbyPage(rows []query.ListLobbiesRow, p query.ListLobbiesParams) (page LobbyPage) {
	for _, r := range rows {
		if r.ID != "" {
			page.Rooms = append(page.Rooms,
				listedLobby(query.NewestLobbiesRow{ID: r.ID, Type: r.Type, Members: r.Members,
					MaxMembers: r.MaxMembers, Locked: r.Locked, Metadata: r.Metadata, CreatedAt: r.CreatedAt}))
		}
	}
	switch {
	case len(page.Rooms) == int(p.Page):
		page.NextRoom = page.Rooms[len(page.Rooms)-1].ID
	// It has looked at as many rooms as it may: the rooms behind the last one are not known.
	case len(rows) > 0 && rows[0].Seen == p.MostSeen:
		page.NextRoom = rows[0].Last
	}
	return page
}

// MaxNewestLobbies bounds the rooms that [Store.NewestLobbies] returns.
const MaxNewestLobbies = 2000

// NewestLobbies returns the newest rooms of a type that are not private, for searches; a project with more has others
// that no search finds. Errors: TooMany, Unavailable.
func (s *Store) NewestLobbies(ctx context.Context, region, project, ofType string) (rooms []lobby.Listed, err error) {
	if !isStorable(project) || !isStorable(ofType) {
		return nil, nil
	}
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.NewestLobbies(ctx, query.NewestLobbiesParams{Region: region, Project: project, OfType: ofType,
			Page: MaxNewestLobbies})
		rooms = make([]lobby.Listed, len(rows))
		for i, r := range rows {
			rooms[i] = listedLobby(r)
		}
		return err
	})
	return rooms, err
}

func listedLobby(r query.NewestLobbiesRow) lobby.Listed {
	listed := lobby.Listed{ID: r.ID, Type: r.Type, MemberCount: int(r.Members), MaxMembers: int(r.MaxMembers),
		IsLocked: r.Locked, CreatedAt: r.CreatedAt}
	if r.Metadata != "" {
		listed.Metadata = json.RawMessage(r.Metadata)
	}
	return listed.WithDecodedValues()
}
