package delivery

import (
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// openRooms are the rooms with members here. It watches the notices about them. Safe for concurrent use.
type openRooms struct {
	options  HubOptions
	requests *logRequests

	mu    sync.RWMutex
	byUID map[uuid.UUID]*hubRoom
}

func newOpenRooms(o HubOptions, requests *logRequests) *openRooms {
	return &openRooms{options: o, requests: requests, byUID: map[uuid.UUID]*hubRoom{}}
}

// roomOf returns a room with members here, or nil.
func (o *openRooms) roomOf(uid uuid.UUID) *hubRoom {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.byUID[uid]
}

func (o *openRooms) allUIDs() []uuid.UUID {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return slices.Collect(maps.Keys(o.byUID))
}

// openRoom returns the room of an answer, as it is after the answer if it is new here.
func (o *openRooms) openRoom(a db.LobbyAnswer) (r *hubRoom, isNew bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r = o.byUID[a.LobbyUID]
	if r != nil {
		return r, false
	}
	r = newHubRoom(o.options, o.requests, a, o.forgetRoom)
	o.byUID[a.LobbyUID] = r
	o.options.Feed.Watch(r.feedKey)
	return r, true
}

// forgetRoom takes out a room that has retired, unless another one has taken its place already.
func (o *openRooms) forgetRoom(r *hubRoom) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byUID[r.lobbyUID] == r {
		delete(o.byUID, r.lobbyUID)
		o.options.Feed.Unwatch(r.feedKey)
	}
}

// enterRoom makes a session a member.
func (o *openRooms) enterRoom(j *joining) {
	if j.answer.RoomSnapshot == nil || j.answer.IsClosed {
		j.whenSent()
		return
	}
	o.queueJoin(j)
	// Behind the job above: the session has entered when the row of its join comes, and is not sent it again.
	o.deliverAnswer(j.answer)
}

// queueJoin queues the job by which a session enters its room, and opens another room where that one has retired.
func (o *openRooms) queueJoin(j *joining) {
	for {
		r, isNew := o.openRoom(j.answer)
		queued := r.inbox.runSoon(func(b *batch) { r.receiveJoin(b, j) })
		if !queued {
			// The room has retired, and its goroutine is about to do the same.
			o.forgetRoom(r)
			continue
		}
		if isNew {
			o.requests.requestRead(r) // for what happened before its notices were watched
		}
		return
	}
}

// deliverAnswer delivers what an action of this process did.
func (o *openRooms) deliverAnswer(a db.LobbyAnswer) {
	r := o.roomOf(a.LobbyUID)
	if r == nil {
		return
	}
	// Without a row the action changed nothing that others see.
	if a.LogRow != nil {
		r.offerRow(*a.LogRow, a.RoomSnapshot)
	}
	if a.IsClosed {
		r.inbox.runSoon(func(*batch) { r.endRoom() })
	}
}
