package realtime

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/tenure"
)

// holdLease renews the lease, each second or each tenth of a shorter one, until the server stops and the last
// connection is closed. It returns true at once if others have ended this id. A late renewal makes the replica
// unsteady: leases expire only while some replica is steady.
func (r *replica) holdLease(ctx context.Context) (superseded bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.region.server.runningLoops.Go(func() {
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
	// Also if the renewal failed: each call below has a time limit of its own, and the next renewal repeats it.
	s.outageLog.Report(ctx, "find sessions without a connection", r.markUnattended(ctx, time.Now()))
	// The next renewal goes on: the lease would be lost while a slow database suspends tens of thousands.
	s.outageLog.Report(ctx, "suspend", r.suspendLate(ctx, time.Now().Add(renewEvery)))
	return err
}

func (r *replica) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	return r.region.server.store.RenewRealtimeReplica(ctx, r.region.name, r.id)
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

// endReplica ends the id after the server has stopped: it suspends the late sessions and gives up the lease.
func (r *replica) endReplica(ctx context.Context) {
	// Run ended without Stop: nobody else closes these connections, and the goroutines would stay.
	if ctx.Err() != nil {
		r.cutConns()
	}
	close(r.hasEnded)
	// ctx may have ended. Sessions are suspended all the same: workers would do it only after the lease has expired.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	if err := r.suspendLate(ctx, time.Now().Add(leaseTimeout)); err != nil {
		r.region.server.options.Log.LogAttrs(ctx, slog.LevelWarn, "sessions were not suspended: workers do it",
			slog.Any("error", err))
	}
	if err := r.region.server.store.EndRealtimeReplica(ctx, r.region.name, r.id); err != nil {
		r.region.server.options.Log.LogAttrs(ctx, slog.LevelWarn,
			"the end of the replica was not recorded: its lease expires", slog.Any("error", err))
	}
}
