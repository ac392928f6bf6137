package delivery

import (
	"time"

	"github.com/lattice-director/director/db"
)

// newHubRoom returns a room as it is after an answer. forget takes it out of the hub, once it has no members.
func newHubRoom(o HubOptions, requests *logRequests, a db.LobbyAnswer, forget func(*hubRoom)) *hubRoom {
	r := &hubRoom{
		lobbyUID: a.LobbyUID, feedKey: a.LobbyUID.String(), id: a.RoomSnapshot.ID,
		requests: requests, metrics: o.Metrics,
		localMembers: map[string]*member{}, joinsBehind: map[*session][]*joining{},
		pendingRows: map[int64]rowOffer{}, lookAgain: map[*member]time.Time{},
	}
	r.adoptSnapshot(*a.RoomSnapshot)
	if a.LogRow != nil {
		r.tailRows = []*rowFrames{newRowFrames(r.id, *a.LogRow)}
	}
	// An empty job: each batch looks at the members that wait and at the list. setTimer says when.
	r.wakeTimer = time.AfterFunc(time.Hour, func() { r.inbox.runSoon(func(*batch) {}) })
	r.wakeTimer.Stop()
	r.inbox = roomInbox{
		runBatch: func(jobs []func(*batch)) {
			if o.Guard.Do("room", func() error { r.runBatch(jobs); return nil }) != nil {
				requests.requestSnapshot(r) // what the room knows may be wrong
			}
		},
		// A join that waits would be lost with the room.
		isUnused: func() bool { return len(r.localMembers) == 0 && len(r.joinsBehind) == 0 },
		retire: func() {
			r.wakeTimer.Stop()
			forget(r)
		},
		queuedRows: map[int64]bool{}, appliedPos: r.pos,
	}
	return r
}

// runBatch does jobs, and once for all of them what follows: a room in which a hundred sessions join at once sends its
// list of members once.
func (r *hubRoom) runBatch(jobs []func(*batch)) {
	b := &batch{now: time.Now()}
	for _, job := range jobs {
		job(b)
	}
	r.wakeMembers(b)
	// After the members: what they are sent of the list comes after what they waited for.
	r.sendList(b)
	r.setTimer(b)
	// Rows that were dropped or that wait after a gap exist in the log, and are read from there.
	target := r.inbox.publishPosition(r.pos)
	for pos := range r.pendingRows {
		target = max(target, pos)
	}
	if target > r.pos {
		r.requests.requestGap(r, target)
	}
}

// wakeMembers looks at the members whose time has come.
func (r *hubRoom) wakeMembers(b *batch) {
	for m, at := range r.lookAgain {
		if !at.After(b.now) {
			delete(r.lookAgain, m)
			m.flushHeld(b)
		}
	}
}

// setTimer has the room run a batch when the first of its waiting members may go on, or the list is due.
func (r *hubRoom) setTimer(b *batch) {
	first := time.Time{}
	for _, at := range r.lookAgain {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if due := r.listSentAt.Add(r.listInterval()); r.listDue && (first.IsZero() || due.Before(first)) {
		first = due
	}
	// A timer that is set for the same time is left alone: Reset would be called for each batch.
	if !first.IsZero() && (!first.Equal(r.timerDue) || !r.timerDue.After(b.now)) {
		r.timerDue = first
		r.wakeTimer.Reset(max(first.Sub(b.now), time.Millisecond))
	}
}
