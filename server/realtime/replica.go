package realtime

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/tenure"
	"github.com/lattice-director/director/server/ws"
)

const (
	renewEvery   = time.Second
	leaseTimeout = 3 * time.Second // of a call that is repeated each second
	lateBatch    = 1000            // sessions that are suspended in one call
)

// replica is one id of this replica in a region, from BeginRealtimeReplica until the server stops or others end the id,
// with the connections that it owns.
type replica struct {
	region *region

	id       uuid.UUID
	conns    *ws.Set[*conn, *conn]
	hasEnded chan struct{} // closed when the id has ended

	mu          sync.Mutex
	unsuspended map[string]db.SessionEpoch // sessions without a connection that could not be suspended yet, by id

	unattended unattended
}

func newReplica(r *region, id uuid.UUID) *replica {
	return &replica{region: r, id: id, conns: ws.NewSet[*conn, *conn](), hasEnded: make(chan struct{}),
		unsuspended: map[string]db.SessionEpoch{}}
}

// holdLease renews the lease, each second or each tenth of a shorter one, until the server stops and the last
// connection is closed. It returns true at once if others have ended this id. A replica that renews late is not steady,
// and beside it no lease expires.
func (r *replica) holdLease(ctx context.Context) (superseded bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.region.server.regionLoops.Go(func() {
		r.awaitEmpty()
		cancel()
	})
	s := r.region.server
	lost := tenure.Lease{
		Every: min(renewEvery, s.store.Timing().LeaseTTL/10), Renew: r.renewAndSuspend,
		Report: s.outageLog.Call("renew lease").Report,
		IsLost: func(err error) bool { return fault.Is(err, fault.Superseded) },
	}.Hold(ctx)
	return fault.Is(lost, fault.Superseded)
}

// awaitEmpty returns when the server stops and the last connection is closed, or when the id has ended.
func (r *replica) awaitEmpty() {
	select {
	case <-r.region.server.connsClosed:
	case <-r.hasEnded:
		return
	}
	r.conns.Close()
	r.conns.Wait()
}

// renewAndSuspend renews the lease and does what is due beside it.
func (r *replica) renewAndSuspend(ctx context.Context) error {
	s := r.region.server
	err := r.renewOnce(ctx)
	// Others have ended the id: its sessions are theirs to suspend.
	if fault.Is(err, fault.Superseded) {
		return err
	}
	s.outageLog.Report(ctx, "find sessions without a connection", r.findUnattended(ctx, time.Now()))
	s.outageLog.Report(ctx, "suspend", r.suspendLate(ctx))
	return err
}

func (r *replica) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	return r.region.server.store.RenewRealtimeReplica(ctx, r.region.name, r.id)
}

// suspendSession records that the connection of a session is closed. A session that cannot be recorded now is recorded
// with the next renewal: nobody else does that while this replica lives.
func (r *replica) suspendSession(session db.SessionEpoch, silence time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), r.region.server.options.timing.callTimeout)
	defer cancel()
	if r.suspendAll(ctx, []db.SessionEpoch{session}, silence) != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unsuspended[session.ID] = session
	}
}

func (r *replica) suspendAll(ctx context.Context, sessions []db.SessionEpoch, silence time.Duration) error {
	// clients of a replica that restarts reconnect to another one at once
	announce := !r.region.server.isRestarting.Load()
	return r.region.server.store.SuspendRealtime(ctx, r.region.name, sessions,
		r.region.server.options.RoomTypes.MarkAway,
		announce, silence)
}

func (r *replica) suspendLate(ctx context.Context) error {
	for {
		batch := r.someLate()
		if len(batch) == 0 {
			return nil
		}
		bounded, cancel := context.WithTimeout(ctx, leaseTimeout)
		// Late by a time that is not recorded: the longest that a client may have been silent is assumed.
		err := r.suspendAll(bounded, batch, r.region.server.options.timing.silenceLimit())
		cancel()
		if err != nil {
			return err
		}
		r.forgetLate(batch)
	}
}

func (r *replica) someLate() (batch []db.SessionEpoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, session := range r.unsuspended {
		if batch = append(batch, session); len(batch) == lateBatch {
			break
		}
	}
	return batch
}

// forgetLate leaves out sessions that became late again, with a later epoch.
func (r *replica) forgetLate(suspended []db.SessionEpoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, session := range suspended {
		if r.unsuspended[session.ID] == session {
			delete(r.unsuspended, session.ID)
		}
	}
}

// closeFenced closes the connections of an id that others have ended: workers suspend its sessions.
func (r *replica) closeFenced() {
	r.region.server.options.Log.LogAttrs(context.Background(), slog.LevelWarn,
		"realtime replica was ended by others: its connections are closed",
		slog.String("region", r.region.name), slog.String("replica", r.id.String()))
	r.conns.Close()
	close(r.hasEnded)
	for _, c := range r.conns.Conns() {
		// First, because the end of a connection suspends its session, and workers do that for an id that has ended.
		c.disownSession()
		c.Close(closeRestart, reasonFenced)
	}
}

// cutConns cuts the connections of a server that ends without Stop.
func (r *replica) cutConns() {
	r.conns.Close()
	for _, c := range r.conns.Conns() {
		c.cutOff()
	}
}

// recordEnd records that the server has stopped.
func (r *replica) recordEnd(ctx context.Context) {
	if ctx.Err() != nil {
		r.cutConns()
	}
	close(r.hasEnded)
	// ctx may have ended. Sessions are suspended all the same: workers would do it only after the lease has expired.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	if err := r.suspendLate(ctx); err != nil {
		r.region.server.options.Log.LogAttrs(ctx, slog.LevelWarn, "sessions were not suspended: workers do it",
			slog.Any("error", err))
	}
	if err := r.region.server.store.EndRealtimeReplica(ctx, r.region.name, r.id); err != nil {
		r.region.server.options.Log.LogAttrs(ctx, slog.LevelWarn,
			"the end of the replica was not recorded: its lease expires", slog.Any("error", err))
	}
}
