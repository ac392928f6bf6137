package realtime

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

const (
	// listEvery is how old the rooms of a search may be: whoever searches, one statement a second reads a list.
	listEvery = time.Second
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
