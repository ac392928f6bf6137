package console

import (
	"context"
	"strings"
	"time"

	"github.com/lattice-director/director/db"
)

// roomStore is what the pages of rooms read.
type roomStore interface {
	ConsoleRooms(ctx context.Context, f db.RoomFilter) (rooms []db.ConsoleRoom, more bool, err error)
	ConsoleRealtime(ctx context.Context) ([]db.LobbyTotals, error)
	ConsoleLobbies(ctx context.Context, f db.LobbyFilter) (rooms []db.LobbyRoom, more bool, err error)
}

// roomsView is what templates/rooms.html reads.
type roomsView struct {
	Rooms    []db.ConsoleRoom
	Next     string
	Filtered bool
}

var roomsPage = page[roomsView]{path: "/rooms", template: "rooms", every: 3 * time.Second, load: func(ctx context.Context, s Store, q query) (v roomsView, err error) {
	f := db.RoomFilter{Text: q.Get("text"), Page: pageSize}
	v.Filtered = f.Text != ""
	f.AfterRegion, f.After = q.After()
	v.Rooms, v.Next, err = roomPage(ctx, s, q, f)
	return v, err
}}

// lobbiesView is what templates/lobbies.html reads.
type lobbiesView struct {
	Totals   []db.LobbyTotals
	Rooms    []db.LobbyRoom
	Next     string
	Filtered bool
}

var lobbiesPage = page[lobbiesView]{path: "/lobbies", template: "lobbies", every: 3 * time.Second, load: loadLobbies}

func loadLobbies(ctx context.Context, s Store, q query) (v lobbiesView, err error) {
	f := db.LobbyFilter{Project: q.Get("project"), Text: q.Get("text"), Page: pageSize}
	v.Filtered = f.Project+f.Text != ""
	region, rest := q.After()
	project, room, _ := strings.Cut(rest, "~")
	f.After = [3]string{region, project, room}
	if v.Totals, err = s.ConsoleRealtime(ctx); err != nil {
		return v, err
	}
	var more bool
	if v.Rooms, more, err = s.ConsoleLobbies(ctx, f); more {
		last := v.Rooms[len(v.Rooms)-1]
		v.Next = q.Next(last.Region, last.Project+"~"+last.Room)
	}
	return v, err
}
