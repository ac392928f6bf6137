package watch

import (
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
)

// Follower wakes its caller after each change of a ticket: a new state, or that it has left the queue. Make it with
// [Hub.Follow] and Stop it. Safe for concurrent use.
type Follower struct {
	hub          *Hub
	id           string
	changed      chan struct{} // holds one signal
	stopOnce     sync.Once
	endKeepAlive func() // ends what KeepAlive began; nil without
}

// Follow begins to follow a ticket, which need not exist. A change that is committed after Follow has returned is
// signalled. Errors: Unavailable when too many tickets are followed, or the hub has stopped.
func (h *Hub) Follow(id string) (*Follower, error) {
	if err := h.stoppedError(); err != nil {
		return nil, err
	}
	f := &Follower{hub: h, id: id, changed: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.followerCount >= h.maxWatchers {
		return nil, unavailableError("too many calls wait for tickets on this replica: retry, another replica may have room")
	}
	if h.followersByTicket[id] == nil {
		h.followersByTicket[id] = map[*Follower]struct{}{}
	}
	h.followersByTicket[id][f] = struct{}{}
	h.followerCount++
	if h.followerCount == 1 {
		wait.Wake(h.followerAdded) // nobody has read the events before: see readEvents
	}
	return f, nil
}

// Changed returns the wake-up channel. After a signal the caller reads the ticket.
func (f *Follower) Changed() <-chan struct{} { return f.changed }

// Stopped returns a channel that is closed when the hub has stopped: nothing is signalled any more.
func (f *Follower) Stopped() <-chan struct{} { return f.hub.stopped }

// KeepAlive extends the ticket's life by its lease now and then until Stop. Only the first call counts; a lease of 0
// needs none.
func (f *Follower) KeepAlive(lease time.Duration) {
	if f.endKeepAlive == nil && lease > 0 {
		f.endKeepAlive = f.hub.keepAlive.addWatcher(f.id, lease)
	}
}

// Stop ends following.
func (f *Follower) Stop() {
	f.stopOnce.Do(func() {
		if f.endKeepAlive != nil {
			f.endKeepAlive()
		}
		h := f.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.followersByTicket[f.id], f)
		if len(h.followersByTicket[f.id]) == 0 {
			delete(h.followersByTicket, f.id)
		}
		h.followerCount--
	})
}

// Following returns the number of followers.
func (h *Hub) Following() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.followerCount
}

// wakeAll wakes all followers.
func (h *Hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.followersByTicket {
		h.wakeLocked(id)
	}
}

// wakeFollowers wakes the followers of tickets.
func (h *Hub) wakeFollowers(ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		h.wakeLocked(id)
	}
}

func (h *Hub) wakeLocked(id string) {
	for f := range h.followersByTicket[id] {
		wait.Wake(f.changed)
	}
}
