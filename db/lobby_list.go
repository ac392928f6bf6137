package db

import (
	"context"

	"github.com/lattice-director/director/db/query"
)

// LobbyQuery asks for a page of the rooms of a project, by id.
type LobbyQuery struct {
	Region, Project string
	Type            string // "": all types
	AfterRoom       string // the Next of the page before; "": the first page
	Limit           int    // 1 to 1,000; others mean 1,000
}

// LobbyPage is a page of rooms. A page may have fewer rooms than its limit, or none, and still be followed by another.
type LobbyPage struct {
	Rooms []LobbyInfo
	Next  string // "": it is the last page
}

// LobbyInfo is a room of a [LobbyPage].
type LobbyInfo struct {
	ID, Type string
	Members  int
}

const (
	maxLobbyPage = 1000
	// lobbiesSeen is how many rooms a page looks at for each one that it may return: others are private, or of another
	// type.
	lobbiesSeen = 10
)

// ListLobbies returns a page of the rooms of a project that are not private. Errors: TooMany, Unavailable.
func (s *Store) ListLobbies(ctx context.Context, q LobbyQuery) (page LobbyPage, err error) {
	if !isStorable(q.Project) || !isStorable(q.Type) || !isStorable(q.AfterRoom) {
		return LobbyPage{}, nil
	}
	limit := q.Limit
	if limit < 1 || limit > maxLobbyPage {
		limit = maxLobbyPage
	}
	p := query.ListLobbiesParams{
		Region: q.Region, Project: q.Project, After: q.AfterRoom, OfType: q.Type, Page: int32(limit),
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
			page.Rooms = append(page.Rooms, LobbyInfo{ID: r.ID, Type: r.Type, Members: int(r.Members)})
		}
	}
	switch {
	case len(page.Rooms) == int(p.Page):
		page.Next = page.Rooms[len(page.Rooms)-1].ID
	case len(rows) > 0 && rows[0].Seen == p.MostSeen:
		page.Next = rows[0].Last
	}
	return page
}
