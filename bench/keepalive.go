package bench

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// maxHeartbeatAge is less than half of the default lease, and more than the five seconds at which real servers send
	// heartbeats: a load at that rate needs no further ones.
	maxHeartbeatAge = 6 * time.Second
	// keepAliveInterval is short, so that heartbeats stay as spread over time as the registrations were.
	keepAliveInterval = 100 * time.Millisecond
)

// keepAlive sends the heartbeats that the load itself does not send, until ctx ends.
func (f *fleet) keepAlive(ctx context.Context) {
	for ticks := time.NewTicker(keepAliveInterval); ; {
		select {
		case <-ctx.Done():
			ticks.Stop()
			return
		case <-ticks.C:
			f.heartbeatOlder(ctx, maxHeartbeatAge)
		}
	}
}

// heartbeatOlder sends one heartbeat of each instance whose last one is older.
func (f *fleet) heartbeatOlder(ctx context.Context, than time.Duration) {
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	for _, one := range f.all {
		if at := one.lastHeartbeat.Load(); at == 0 || time.Since(time.Unix(0, at)) < than || ctx.Err() != nil {
			continue
		}
		group.Go(func() error {
			f.registerAgain(one, f.heartbeat(one.url, one))
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
}
