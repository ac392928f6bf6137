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
	AfterRoom         string // the NextRoom of the page before; "": the first page
	Limit             int    // 1 to 1,000; others mean 1,000
}

// LobbyPage is a page of rooms. A page may have fewer rooms than its limit, or none, and still be followed by another.
type LobbyPage struct {
	Rooms    []lobby.Listed // with decoded values
	NextRoom string         // where the next page begins; "": this is the last page
}

const (
	maxLobbyPage = 1000
	// seenPerLobby is how many rooms a page looks at for each one that it may return: others are private, or of another
	// type.
	seenPerLobby = 10
)

// ListLobbies returns a page of the rooms of a project that are not private. Errors: TooMany, Unavailable.
func (s *Store) ListLobbies(ctx context.Context, list LobbyQuery) (page LobbyPage, err error) {
	// No row has such texts, and Postgres would refuse the statement.
	if !isStorable(list.ProjectID) || !isStorable(list.RoomType) || !isStorable(list.AfterRoom) {
		return LobbyPage{}, nil
	}
	limit := list.Limit
	if limit < 1 || limit > maxLobbyPage {
		limit = maxLobbyPage
	}
	p := query.ListLobbiesParams{
		Region: list.Region, Project: list.ProjectID, After: list.AfterRoom, OfType: list.RoomType,
		Page: int32(limit),
		// Bounds the work of a statement whose filter passes few rooms: the page then ends early, with a NextRoom.
		MostSeen: int32(limit * seenPerLobby),
	}
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ListLobbies(ctx, p)
		if err != nil {
			return err
		}
		page = pageOfLobbies(rows, p)
		return nil
	})
	return page, err
}

func pageOfLobbies(rows []query.ListLobbiesRow, p query.ListLobbiesParams) (page LobbyPage) {
	for _, r := range rows {
		if r.ID != "" {
			page.Rooms = append(page.Rooms,
				listedLobby(query.NewestLobbiesRow{ID: r.ID, Type: r.Type, Members: r.Members,
					MaxMembers: r.MaxMembers, Locked: r.Locked, Metadata: r.Metadata, CreatedAt: r.CreatedAt}))
		}
	}
	if len(page.Rooms) == int(p.Page) {
		page.NextRoom = page.Rooms[len(page.Rooms)-1].ID
		return page
	}
	// The statement has looked at as many rooms as it may: the rooms behind the last one that it saw are not known.
	if len(rows) > 0 && rows[0].Seen == p.MostSeen {
		page.NextRoom = rows[0].Last
	}
	return page
}

// MaxNewestLobbies bounds the rooms that [Store.NewestLobbies] returns.
const MaxNewestLobbies = 2000

// NewestLobbies returns the newest rooms of a type that are not private, up to MaxNewestLobbies, for searches: no
// search finds older rooms. Errors: TooMany, Unavailable.
func (s *Store) NewestLobbies(ctx context.Context, region, project, roomType string) (rooms []lobby.Listed, err error) {
	if !isStorable(project) || !isStorable(roomType) {
		return nil, nil
	}
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.NewestLobbies(ctx, query.NewestLobbiesParams{Region: region, Project: project, OfType: roomType,
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
