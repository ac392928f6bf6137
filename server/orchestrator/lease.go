package orchestrator

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/tenure"
	"github.com/lattice-director/director/server/ws"
)

// serveReplicas begins one id after the other until the server stops. It returns after the last one has ended.
func (s *Server) serveReplicas(ctx context.Context) {
	tenure.Series[*replica]{
		Begin: s.beginReplica, Hold: func(ctx context.Context, r *replica) bool { return r.holdLease(ctx) },
		Fence: (*replica).closeFenced,
		End:   func(ctx context.Context, r *replica) { r.stopSockets(ctx) },
		// The delay is the longest from the first attempt on: during an outage of the database all replicas need an id.
		Retry: func() time.Duration { return retryDelay(longestDelayAttempt) }, Stopping: s.stopping,
		Report: s.outageLog.Call("begin").Report,
	}.Run(ctx)
}

// beginReplica makes the next id of this replica.
func (s *Server) beginReplica(ctx context.Context) (*replica, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id, err := s.options.Store.BeginReplica(ctx, s.options.Region)
	if err != nil {
		return nil, err
	}
	r := s.newReplica(id)
	s.currentReplica.Store(r) // From here on handshakes are accepted.
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "replica begins", slog.String("replica", id.String()))
	return r, nil
}

// holdLease renews the lease, and reads the replica's agents and commands, until others have ended this id, for which it
// returns true, or the server stops.
func (r *replica) holdLease(ctx context.Context) (superseded bool) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // deferred last, so that it comes first: it ends what Wait waits for
	ended := make(chan struct{})
	running.Go(func() {
		if fault.Is(r.leaseTerms().Hold(ctx), fault.Superseded) {
			close(ended)
		}
	})
	// Two loops, so that a command does not wait for a long list of agents.
	running.Go(func() { r.followTopic(ctx, "commands", r.sendPending) })
	running.Go(func() { r.followTopic(ctx, "agents", r.readAgents) })
	select {
	case <-ended:
		return true
	case <-r.server.stopping:
	case <-ctx.Done():
	}
	return false
}

// leaseTerms says how the lease is renewed: each second, or each tenth of the lease if that is shorter.
func (r *replica) leaseTerms() tenure.Lease {
	o := r.server.options
	return tenure.Lease{
		Every: min(time.Second, o.Store.Timing().LeaseTTL/10), Timeout: callTimeout,
		Renew: func(ctx context.Context) error {
			silence := r.measureAgents()
			return o.Store.RenewReplica(ctx, o.Region, r.id, silence)
		},
		IsLost: func(err error) bool { return fault.Is(err, fault.Superseded) },
		Report: r.server.outageLog.Call("renew").Report,
	}
}

// measureAgents sets the metrics of the number of agents. It returns the longest time since the last reply of an agent
// that has missed no poll.
func (r *replica) measureAgents() (silence time.Duration) {
	now := time.Now()
	joining, listed, stale := 0, 0, 0
	for _, s := range r.sockets.Conns() {
		p := s.lastPolls()
		switch {
		case p.hasEnded:
			continue
		case !p.hasState:
			joining++
			continue
		case p.missedPolls >= staleMisses:
			stale++
		default:
			listed++
		}
		// If an agent has missed a poll, its lane records how long it has been silent.
		if p.missedPolls == 0 {
			silence = max(silence, now.Sub(p.heardAt))
		}
	}
	r.server.metrics.setAgents(joining, listed, stale)
	return silence
}

// closeFenced closes the connections of an id that was ended: it no longer owns its rows.
func (r *replica) closeFenced() {
	r.server.options.Log.LogAttrs(context.Background(), slog.LevelWarn,
		"replica was ended by others: its connections are closed", slog.String("replica", r.id.String()))
	r.sockets.Close()
	// The database would refuse what they still have to write.
	r.stopLanes()
	for _, s := range r.sockets.Conns() {
		s.endFenced()
	}
}

// stopSockets leaves the rows to other replicas, and then closes the sockets, so that the agents reconnect to them.
func (r *replica) stopSockets(ctx context.Context) {
	r.sockets.Close()
	// The id ends before the sockets are closed: an agent that joins another replica takes the place of its row here only
	// if this id has ended.
	r.endReplica(ctx)
	ws.CloseEvenly(r.laneContext, closeSpread, r.sockets.Conns(), func(s *socket) {
		s.handleEvent(func(c *conversation) effects {
			return c.endConnection(closeInvalid, reasonStopped, "the replica stops")
		})
	})
	late := time.AfterFunc(laneGrace, r.stopLanes)
	defer late.Stop()
	r.sockets.Wait()
	r.stopLanes()
}

// endReplica records that the id ends. Its agents stay listed for keptBeats heartbeats, until they have reconnected.
func (r *replica) endReplica(ctx context.Context) {
	// ctx may have ended, and the agents should not wait until the lease runs out.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := r.server.options.Store.EndReplica(ctx, r.server.options.Region, r.id,
		keptBeats*r.server.options.Heartbeat); err != nil {
		r.server.options.Log.LogAttrs(ctx, slog.LevelWarn,
			"the end of the replica was not recorded: its agents leave with its lease", slog.Any("error", err))
	}
}
