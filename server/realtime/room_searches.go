package realtime

import (
	"context"

	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
)

// maxSearches bounds the different searches of a list that clients of this replica watch: each is repeated when the
// list changes. The same search of many clients is one.
const maxSearches = 256

// watchedSearch is a search that clients watch, with the rooms that they know.
type watchedSearch struct {
	list          *roomList
	search        lobby.Search
	knownRooms    []lobby.Listed
	watchingConns map[*conn]bool // false: what changes waits until the rooms that were found are queued
}

// addWatcher lets a connection watch a search, which found these rooms, in place of what it watched before. It is sent
// nothing until startWatcher. Errors: too many searches are watched; nothing has changed then.
func (l *roomLists) addWatcher(c *conn, name listName, search lobby.Search,
	found []lobby.Listed) (*watchedSearch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.ensureListLocked(name)
	hasTooMany := list.searchesByKey[search.Key] == nil && l.searchesBeside(c, list) >= maxSearches
	isBeyondBound := l.byName[name] != list // of maxLists: it was read for its caller alone
	if hasTooMany || isBeyondBound {
		return nil, &wire.Failure{Code: wire.CodeRateLimited, Text: "too many searches are watched",
			RetryAfter: listKept}
	}
	l.forgetLocked(c)
	w := list.searchesByKey[search.Key]
	if w == nil {
		w = &watchedSearch{list: list, search: search, knownRooms: found, watchingConns: map[*conn]bool{}}
		list.searchesByKey[search.Key] = w
	}
	w.watchingConns[c], l.searchByConn[c] = false, w
	list.followLoop.start(l.server, func(ctx context.Context) { l.followList(ctx, list) })
	return w, nil
}

// searchesBeside returns how many searches of a list are watched, without one that only this connection watches.
func (l *roomLists) searchesBeside(c *conn, list *roomList) int {
	count := len(list.searchesByKey)
	if w := l.searchByConn[c]; w != nil && w.list == list && len(w.watchingConns) == 1 {
		count--
	}
	return count
}

// startWatcher sends a connection, which has been sent the rooms that were found, what changes from then on.
func (l *roomLists) startWatcher(c *conn, w *watchedSearch, found []lobby.Listed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The connection has ended the subscription, or watches another search by now.
	if l.searchByConn[c] != w {
		return
	}
	// Others that watch it may have been sent a newer list than this connection: from here on all know the same.
	if frame := listChange(w.list.name.roomType, found, w.knownRooms); frame != nil {
		c.Push(delivery.PushEvent, "", frame)
	}
	w.watchingConns[c] = true
}

// forgetConn ends what a connection watches.
func (l *roomLists) forgetConn(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetLocked(c)
}

func (l *roomLists) forgetLocked(c *conn) {
	w := l.searchByConn[c]
	if w == nil {
		return
	}
	delete(l.searchByConn, c)
	delete(w.watchingConns, c)
	if len(w.watchingConns) > 0 {
		return
	}
	delete(w.list.searchesByKey, w.search.Key)
	if len(w.list.searchesByKey) == 0 {
		w.list.followLoop.stop()
	}
}

// followList sends the clients that watch a list what changes in it.
func (l *roomLists) followList(ctx context.Context, list *roomList) {
	follow.Loop{
		Name: "room list", Every: listEvery, Timeout: watchTimeout, Guard: l.server.guard,
		Report: l.server.outageLog.Call("room list").Report,
		Do: func(ctx context.Context, _ bool) error {
			rooms, err := list.readNewerThan(ctx, l.server, listEvery/2)
			if err != nil {
				return err
			}
			for _, w := range l.searchesOf(list) {
				l.sendChanges(w, w.search.SelectRooms(rooms))
			}
			return nil
		},
	}.Run(ctx)
}

// searchesOf returns the searches of a list that are watched. A copy: sendChanges locks for each of them.
func (l *roomLists) searchesOf(list *roomList) (all []*watchedSearch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range list.searchesByKey {
		all = append(all, w)
	}
	return all
}

// sendChanges sends those that watch a search what has changed, one frame for all of them.
func (l *roomLists) sendChanges(w *watchedSearch, found []lobby.Listed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	frame := listChange(w.list.name.roomType, w.knownRooms, found)
	w.knownRooms = found
	if frame == nil {
		return
	}
	for c, hasStarted := range w.watchingConns {
		if hasStarted {
			c.Push(delivery.PushEvent, "", frame)
		}
	}
}

// listChange returns the event that turns the rooms that a client knows into others; nil: they are the same.
func listChange(roomType string, known, now []lobby.Listed) *wire.SharedFrame {
	changed, removed := lobby.ListChanges(known, now)
	if len(changed) == 0 && len(removed) == 0 {
		return nil
	}
	return wire.NewSharedFrame(wire.Outgoing{Type: "room.list.changed", P: map[string]any{
		"room_type": roomType, "rooms": listedRooms(changed), "removed": append([]string{}, removed...),
	}})
}
