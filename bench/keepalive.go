package bench

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// overdue is how old a heartbeat may get: a default lease has room for two of them, and a load that comes round to all
	// every five seconds needs no help.
	overdue = 6 * time.Second
	// lookEvery spreads the heartbeats over the time as they were when the instances registered.
	lookEvery = 100 * time.Millisecond
)

// keepAlive beats for the instances that nobody else has beaten for, until ctx ends.
func (f *fleet) keepAlive(ctx context.Context) {
	for ticks := time.NewTicker(lookEvery); ; {
		select {
		case <-ctx.Done():
			ticks.Stop()
			return
		case <-ticks.C:
			f.freshen(ctx, overdue)
		}
	}
}

// freshen beats once for all whose last beat is older.
func (f *fleet) freshen(ctx context.Context, than time.Duration) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, one := range f.all {
		if at := one.beaten.Load(); at == 0 || time.Since(time.Unix(0, at)) < than || ctx.Err() != nil {
			continue
		}
		group.Go(func() error {
			f.revive(one, f.beat(one.url, one))
			return nil
		})
	}
	_ = group.Wait() // a beat that fails is followed by the next
}
