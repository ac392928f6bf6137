package realtime

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

const (
	renewEvery   = time.Second
	leaseTimeout = 3 * time.Second // of a call that is repeated each second
	lateBatch    = 1000            // sessions that are suspended in one call
)

// life is the time of one id of this replica in a region, from BeginRealtimeReplica until the replica stops or is ended by others, with the
// connections that it owns.
type life struct {
	*region

	id   uuid.UUID
	over chan struct{} // closed when the life has ended

	mu     sync.Mutex
	ending bool // no connection joins any more
	conns  map[*conn]struct{}
	gone   sync.WaitGroup             // counts conns
	late   map[string]db.SessionEpoch // sessions without a connection that could not be suspended yet, by id

	unattended unattended
}

func newLife(r *region, id uuid.UUID) *life {
	return &life{region: r, id: id, over: make(chan struct{}), conns: map[*conn]struct{}{}, late: map[string]db.SessionEpoch{}}
}

// add returns false if the life is ending.
func (l *life) add(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return false
	}
	l.conns[c] = struct{}{}
	l.gone.Add(1)
	return true
}

func (l *life) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	l.gone.Done()
}

func (l *life) all() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.conns))
}

// run renews the lease, each second or each tenth of a shorter one, until the server stops and the last connection is closed. It returns true at
// once if others have ended this replica. A replica that renews late is not steady, and beside it no lease expires.
func (l *life) run(ctx context.Context) (superseded bool) {
	every := time.NewTicker(min(renewEvery, l.store.Timing().LeaseTTL/10))
	defer every.Stop()
	empty := l.emptied()
	for {
		err := l.renew(ctx)
		if fault.Is(err, fault.Superseded) {
			return true
		}
		l.trouble.Report(ctx, "renew lease", err)
		l.trouble.Report(ctx, "find sessions without a connection", l.findUnattended(ctx, time.Now()))
		l.trouble.Report(ctx, "suspend", l.suspendLate(ctx))
		select {
		case <-every.C:
		case <-empty:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// emptied returns a channel that is closed when the server stops and the last connection is closed.
func (l *life) emptied() <-chan struct{} {
	empty := make(chan struct{})
	l.loops.Go(func() {
		select {
		case <-l.stopping:
		case <-l.over:
			return
		}
		l.close()
		l.gone.Wait()
		close(empty)
	})
	return empty
}

// close marks the life as ending. From here on, no connection joins.
func (l *life) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending = true
}

func (l *life) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	return l.store.RenewRealtimeReplica(ctx, l.name, l.id)
}

// suspend records that the connection of a session is closed. A session that cannot be recorded now is recorded with the next renewal: nobody
// else does that while this replica lives.
func (l *life) suspend(session db.SessionEpoch) {
	ctx, cancel := context.WithTimeout(context.Background(), l.options.timing.call)
	defer cancel()
	if l.suspendAll(ctx, []db.SessionEpoch{session}) != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.late[session.ID] = session
	}
}

func (l *life) suspendAll(ctx context.Context, sessions []db.SessionEpoch) error {
	announce := !l.restarting.Load() // clients of a replica that restarts reconnect to another one at once
	return l.store.SuspendRealtime(ctx, l.name, sessions, l.options.Rooms.Away, announce)
}

func (l *life) suspendLate(ctx context.Context) error {
	for {
		batch := l.someLate()
		if len(batch) == 0 {
			return nil
		}
		bounded, cancel := context.WithTimeout(ctx, leaseTimeout)
		err := l.suspendAll(bounded, batch)
		cancel()
		if err != nil {
			return err
		}
		l.forgetLate(batch)
	}
}

func (l *life) someLate() (batch []db.SessionEpoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, session := range l.late {
		if batch = append(batch, session); len(batch) == lateBatch {
			break
		}
	}
	return batch
}

// forgetLate leaves out sessions that became late again, with a later epoch.
func (l *life) forgetLate(suspended []db.SessionEpoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, session := range suspended {
		if l.late[session.ID] == session {
			delete(l.late, session.ID)
		}
	}
}

// fence closes the connections of a replica that was ended by others: workers suspend its sessions.
func (l *life) fence() {
	l.options.Log.LogAttrs(context.Background(), slog.LevelWarn, "realtime replica was ended by others: its connections are closed",
		slog.String("region", l.name), slog.String("replica", l.id.String()))
	l.close()
	close(l.over)
	for _, c := range l.all() {
		c.disown()
		c.close(closeRestart, reasonFenced)
	}
}

// abandon cuts the connections of a replica that ends without Stop.
func (l *life) abandon() {
	l.close()
	for _, c := range l.all() {
		c.cut()
	}
}

// end records that the replica has stopped.
func (l *life) end(ctx context.Context) {
	close(l.over)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	if err := l.suspendLate(ctx); err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelWarn, "sessions were not suspended: workers do it", slog.Any("error", err))
	}
	if err := l.store.EndRealtimeReplica(ctx, l.name, l.id); err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelWarn, "the end of the replica was not recorded: its lease expires", slog.Any("error", err))
	}
}
