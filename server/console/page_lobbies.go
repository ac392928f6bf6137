package console

import (
	"context"
	"strings"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// lobbiesView is what templates/lobbies.html reads.
type lobbiesView struct {
	Totals   []opsview.LobbyTotal
	Rooms    []opsview.LobbyRoom
	Next     string
	Filtered bool
}

// lobbiesPage shows the rooms of the realtime lobby.
var lobbiesPage = page[lobbiesView]{routePath: "/lobbies", templateName: "lobbies", readEvery: 3 * time.Second,
	loadData: loadLobbies}

// loadLobbies reads a page of the rooms that the filter selects. The totals are of all.
func loadLobbies(ctx context.Context, s Store, q query) (v lobbiesView, err error) {
	f := opsview.LobbyRoomFilter{Project: q.Get("project"), Text: q.Get("text")}
	v.Filtered = f.Project+f.Text != ""
	from := opsview.Page{Limit: pageSize}
	if q.Paged() {
		// A key of three texts: the project and the room are joined below.
		region, rest := q.lastKey()
		project, room, _ := strings.Cut(rest, "~")
		from.After = []any{region, project, room}
	}
	if v.Totals, _, err = listView(ctx, s, opsview.LobbyTotals, opsview.Any{}, opsview.Page{Limit: 100}); err != nil {
		return v, err
	}
	rooms, more, err := listView(ctx, s, opsview.LobbyRooms, f, from)
	v.Rooms = rooms
	if more {
		last := rooms[len(rooms)-1]
		v.Next = q.Next(last.Region, last.Project+"~"+last.Room)
	}
	return v, err
}
