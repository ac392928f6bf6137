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

// ListLobbies returns a page of the rooms of a project that are neither private, nor empty and locked. Errors: TooMany, Unavailable.
func (s *Store) ListLobbies(ctx context.Context, list LobbyQuery) (page LobbyPage, err error) {
	// No row has such texts, and Postgres would refuse the statement.
	if !isStorable(list.ProjectID) || !isStorable(list.RoomType) || !isStorable(list.AfterRoom) {
		return LobbyPage{}, nil
	}
	limit := list.Limit
	if limit < 1 || limit > maxLobbyPage {
		limit = maxLobbyPage
	}
	// Bounds the work of a statement whose filter passes few rooms: the page then ends early, with a NextRoom.
	mostSeen := limit * seenPerLobby
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ListLobbies(ctx, query.ListLobbiesParams{Region: list.Region, Project: list.ProjectID,
			After: list.AfterRoom, OfType: list.RoomType, Page: int32(limit), MostSeen: int32(mostSeen)})
		if err != nil {
			return err
		}
		page = pageOfLobbies(rows, limit, mostSeen)
		return nil
	})
	return page, err
}

func pageOfLobbies(rows []query.ListLobbiesRow, limit, mostSeen int) (page LobbyPage) {
	for _, r := range rows {
		if r.ID != "" {
			page.Rooms = append(page.Rooms, listedLobby(lobby.Listed{ID: r.ID, Type: r.Type,
				MemberCount: int(r.Members), MaxMembers: int(r.MaxMembers), IsLocked: r.Locked,
				CreatedAt: r.CreatedAt}, r.Metadata))
		}
	}
	if len(page.Rooms) == limit {
		page.NextRoom = page.Rooms[len(page.Rooms)-1].ID
		return page
	}
	// The statement has looked at as many rooms as it may: the rooms behind the last one that it saw are not known.
	if len(rows) > 0 && int(rows[0].Seen) == mostSeen {
		page.NextRoom = rows[0].Last
	}
	return page
}

// MaxNewestLobbies bounds the rooms that [Store.NewestLobbies] returns.
const MaxNewestLobbies = 2000

// NewestLobbies returns the newest rooms of a type that are neither private, nor empty and locked, up to
// MaxNewestLobbies, for searches: no search finds older rooms. Errors: TooMany, Unavailable.
func (s *Store) NewestLobbies(ctx context.Context, region, project, roomType string) (rooms []lobby.Listed, err error) {
	if !isStorable(project) || !isStorable(roomType) {
		return nil, nil
	}
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.NewestLobbies(ctx, query.NewestLobbiesParams{Region: region, Project: project, OfType: roomType,
			Page: MaxNewestLobbies})
		if err != nil {
			return err
		}
		rooms = make([]lobby.Listed, len(rows))
		for i, r := range rows {
			rooms[i] = listedLobby(lobby.Listed{ID: r.ID, Type: r.Type, MemberCount: int(r.Members),
				MaxMembers: int(r.MaxMembers), IsLocked: r.Locked, CreatedAt: r.CreatedAt}, r.Metadata)
		}
		return nil
	})
	return rooms, err
}

// listedLobby returns a room with the values of its stored metadata; "": it has none.
func listedLobby(listed lobby.Listed, metadata string) lobby.Listed {
	if metadata != "" {
		listed.Metadata = json.RawMessage(metadata)
	}
	return listed.WithDecodedValues()
}
