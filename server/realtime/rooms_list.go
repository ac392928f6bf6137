package realtime

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

const maxListed = 1000 // rooms of a page

// listRooms lists rooms: all of them in pages, or those that a search selects, which a client may watch.
func listRooms(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	roomType, failed := e.RoomType("")
	if failed != nil {
		return nil, failed
	}
	p := e.PayloadFields()
	// A request with none of these fields is that of Nexis, which lists in pages and has no search.
	if p["filter"] != nil || p["joinable"] != nil || p["order"] != nil || p["subscribe"] != nil {
		return searchRooms(ctx, c, roomType, p)
	}
	after, _ := p["after"].(string)
	q := db.LobbyQuery{
		Region: c.region, ProjectID: c.project, RoomType: roomType, AfterRoom: after,
		Limit: wire.ClampInteger(p["limit"], maxListed, 1, maxListed),
	}
	return func() (rpcAnswer, error) {
		page, err := c.server.store.ListLobbies(ctx, q)
		if err != nil {
			return rpcAnswer{}, err
		}
		answer := map[string]any{"rooms": listedRooms(page.Rooms)}
		if page.NextRoom != "" {
			answer["next"] = page.NextRoom
		}
		return rpcAnswer{P: answer, EventType: "room.list"}, nil
	}, nil
}

// searchRooms lists the newest rooms of a type that a search selects.
func searchRooms(ctx context.Context, c *conn, roomType string, p map[string]any) (func() (rpcAnswer, error), error) {
	// A type that is not known is refused: every text that a client makes up would be a list that is kept and read.
	if _, known := c.server.options.RoomTypes.LookupType(roomType); !known {
		return nil, wire.InvalidField("room_type", "must be that of the rooms to search")
	}
	fields, _ := rawFields(p)
	search, err := lobby.ParseSearch(fields)
	if err != nil {
		return nil, err
	}
	subscribe, isFlag := p["subscribe"].(bool)
	if p["subscribe"] != nil && !isFlag {
		return nil, wire.InvalidField("subscribe", "must be true or false")
	}
	list := listName{c.region, c.project, roomType}
	return func() (rpcAnswer, error) {
		rooms, err := c.server.roomLists.readList(ctx, list)
		if err != nil {
			return rpcAnswer{}, err
		}
		found := search.SelectRooms(rooms)
		a := rpcAnswer{P: map[string]any{"rooms": listedRooms(found)}, EventType: "room.list"}
		if subscribe {
			watched, err := c.server.roomLists.addWatcher(c, list, search, found)
			if err != nil {
				return rpcAnswer{}, err
			}
			// After the answer is queued, so that no change of the list arrives before the list.
			a.AfterQueued = func() { c.server.roomLists.startWatcher(c, watched, found) }
		}
		return a, nil
	}, nil
}

// unlistRooms ends the subscription to a list.
func unlistRooms(_ context.Context, c *conn, _ wire.Envelope) (func() (rpcAnswer, error), error) {
	c.server.roomLists.forgetConn(c)
	return nil, nil //nolint:nilnil // there is nothing to wait for
}

func listedRooms(rooms []lobby.Listed) []any {
	all := make([]any, 0, len(rooms))
	for _, r := range rooms {
		one := map[string]any{"id": r.ID, "room_type": r.Type, "members": r.MemberCount, "max_members": r.MaxMembers,
			"locked": r.IsLocked}
		if r.Metadata != nil {
			one["metadata"] = r.Metadata
		}
		all = append(all, one)
	}
	return all
}
