package watch

import (
	"sync"
	"time"
)

// Follower wakes its caller after each change of a ticket: a new state, or that it has left the queue. Make it with
// [Hub.Follow] and Stop it. Its methods are for one goroutine, except Changed and Stopped, which return channels.
type Follower struct {
	id           string
	changed      chan struct{}   // holds one signal
	hubStopped   <-chan struct{} // closed when the hub has stopped
	lives        *lifeExtender
	stopOnce     sync.Once
	forget       func() // takes the follower out of its hub
	endKeepAlive func() // ends what KeepAlive began; nil: it was not called, or its lease was 0
}

// Changed returns the wake-up channel. After a signal the caller reads the ticket.
func (f *Follower) Changed() <-chan struct{} { return f.changed }

// Stopped returns a channel that is closed when the hub has stopped: nothing is signalled any more.
func (f *Follower) Stopped() <-chan struct{} { return f.hubStopped }

// KeepAlive extends the ticket's life by its lease at once and each third of the lease until Stop. Only the first call
// with a lease counts. 0 means that the ticket does not expire without a watcher, and does nothing.
func (f *Follower) KeepAlive(lease time.Duration) {
	if f.endKeepAlive == nil && lease > 0 {
		f.endKeepAlive = f.lives.keepAlive(f.id, lease)
	}
}

// Stop ends following.
func (f *Follower) Stop() {
	f.stopOnce.Do(func() {
		if f.endKeepAlive != nil {
			f.endKeepAlive()
		}
		f.forget()
	})
}
