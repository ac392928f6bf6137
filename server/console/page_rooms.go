package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// roomsView is what templates/rooms.html reads.
type roomsView struct {
	Rooms    []opsview.Room
	Next     string
	Filtered bool
}

// roomsPage shows the rooms of Rivalis agents.
var roomsPage = page[roomsView]{routePath: "/rooms", templateName: "rooms", readEvery: 3 * time.Second,
	loadData: func(ctx context.Context, s Store, q query) (v roomsView, err error) {
		f := opsview.RoomFilter{Text: q.Get("text")}
		v.Filtered = f.Text != ""
		v.Rooms, v.Next, err = listRooms(ctx, s, q, f)
		return v, err
	}}

// listRooms returns a page of rooms, and the address of the next one.
func listRooms(ctx context.Context, s Store, q query,
	f opsview.RoomFilter) (rooms []opsview.Room, next string, err error) {
	rooms, more, err := listView(ctx, s, opsview.Rooms, f, q.pageAfter())
	if more {
		last := rooms[len(rooms)-1]
		next = q.Next(last.Region, last.Room)
	}
	return rooms, next, err
}
