package realtime

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
)

const (
	// listEvery is how old the rooms of a search may be: whoever searches, one statement a second reads a list.
	listEvery = time.Second
	// maxSearches bounds the different searches of a list that clients of this replica watch: each is repeated when the
	// list changes. The same search of many clients is one.
	maxSearches = 256
	// listKept is how long a list stays that nobody watches, and maxLists bounds them.
	listKept = time.Minute
	maxLists = 1000
)

// listName identifies a list: the rooms of a type in a project that are not private.
type listName struct{ region, project, roomType string }

// roomLists are the lists that clients of this replica search and watch. Safe for concurrent use.
type roomLists struct {
	server *Server

	mu           sync.Mutex
	byName       map[listName]*roomList
	searchByConn map[*conn]*watchedSearch // what a connection watches
}

// roomList is a list as it was read last.
type roomList struct {
	name      listName
	readSlot  chan struct{} // holds a value while somebody uses the two fields below
	lastRooms []lobby.Listed
	readAt    time.Time

	// Guarded by the mutex of roomLists.
	usedAt        time.Time
	searchesByKey map[string]*watchedSearch
	followLoop    watchLoop
}

// watchedSearch is a search that clients watch, with the rooms that they know.
type watchedSearch struct {
	list          *roomList
	search        lobby.Search
	knownRooms    []lobby.Listed
	watchingConns map[*conn]bool // false: what changes waits until the rooms that were found are queued
}

func newRoomLists(s *Server) *roomLists {
	return &roomLists{server: s, byName: map[listName]*roomList{}, searchByConn: map[*conn]*watchedSearch{}}
}

// readList returns the rooms of a list as they were up to a second ago.
func (l *roomLists) readList(ctx context.Context, name listName) ([]lobby.Listed, error) {
	return l.ensureList(name).readNewerThan(ctx, l.server, listEvery)
}

// ensureList returns a list, which is made if there is none. It may not have been read yet.
func (l *roomLists) ensureList(name listName) *roomList {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ensureListLocked(name)
}

func (l *roomLists) ensureListLocked(name listName) *roomList {
	now := time.Now()
	found := l.byName[name]
	if found == nil {
		// Only when a list is added, so that nothing has to run for lists that nobody asks for.
		l.dropUnused(now)
		found = &roomList{name: name, readSlot: make(chan struct{}, 1), searchesByKey: map[string]*watchedSearch{}}
		// Beyond the bound a list is read for this caller alone, and nobody can watch it.
		if len(l.byName) < maxLists {
			l.byName[name] = found
		}
	}
	found.usedAt = now
	return found
}

// dropUnused drops the lists that nobody has asked for of late.
func (l *roomLists) dropUnused(now time.Time) {
	for name, list := range l.byName {
		if len(list.searchesByKey) == 0 && now.Sub(list.usedAt) > listKept {
			delete(l.byName, name)
		}
	}
}

// readNewerThan returns the rooms, and reads them if the last reading is too old.
func (l *roomList) readNewerThan(ctx context.Context, s *Server, maxAge time.Duration) ([]lobby.Listed, error) {
	select {
	// A lock that can be given up: callers wait here for one statement, at most until their own time is over.
	case l.readSlot <- struct{}{}:
	case <-ctx.Done():
		return nil, wire.FailUnavailable
	}
	defer func() { <-l.readSlot }()
	// A caller that waited finds what the one before it has read.
	if time.Since(l.readAt) < maxAge {
		return l.lastRooms, nil
	}
	rooms, err := s.store.NewestLobbies(ctx, l.name.region, l.name.project, l.name.roomType)
	if err != nil {
		return nil, err
	}
	l.lastRooms, l.readAt = rooms, time.Now()
	return rooms, nil
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
