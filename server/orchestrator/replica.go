package orchestrator

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/tenure"
	"github.com/lattice-director/director/server/ws"
)

// Replicas is the part of db.Store that a replica needs for its lease and its agents.
type Replicas interface {
	BeginReplica(ctx context.Context, region string) (uuid.UUID, error)
	RenewReplica(ctx context.Context, region string, id uuid.UUID, silence time.Duration) error
	EndReplica(ctx context.Context, region string, id uuid.UUID, keep time.Duration) error
	OwnAgents(ctx context.Context, region string, replica uuid.UUID, since uint64) (db.OwnAgents, error)
	PendingCommands(ctx context.Context, region string, replica, after uuid.UUID) ([]db.Command, error)
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	Timing() db.Timing
}

const (
	lookEvery   = time.Second     // fallback for lost notifications
	callTimeout = 3 * time.Second // timeout of a call that is repeated each second
	// time over which a stopping replica closes its sockets, so that agents do not all reconnect at once
	closeSpread = 2 * time.Second
	// time for acks and snapshots that still wait for the database when the sockets are closed
	laneGrace = 5 * time.Second
	// heartbeats for which the agents of a stopping replica stay listed, so that they can reconnect elsewhere
	keptBeats = 3
)

// replica is one id of this replica, from BeginReplica until the server stops or others end the id, with the sockets
// that it owns.
type replica struct {
	server *Server

	id          uuid.UUID
	sockets     *ws.Set[string, *socket] // by the agent's id; closed when other replicas may take over the agents' rows
	laneContext context.Context          // ends when the lanes must stop writing
	stopLanes   context.CancelFunc
	lastMoment  atomic.Int64
	readFrom    uint64 // position from which agents are read next
}

func (s *Server) newReplica(id uuid.UUID) *replica {
	r := &replica{server: s, id: id, sockets: ws.NewSet[string, *socket]()}
	r.laneContext, r.stopLanes = context.WithCancel(context.Background())
	return r
}

// nextMoment returns a greater value with each call.
func (r *replica) nextMoment() moment { return moment(r.lastMoment.Add(1)) }

// serveReplicas begins one id after the other until the server stops. It returns after the last one has ended.
func (s *Server) serveReplicas(ctx context.Context) {
	tenure.Series[*replica]{
		Begin: s.beginReplica, Hold: func(ctx context.Context, r *replica) bool { return r.holdLease(ctx) },
		Fence: (*replica).closeFenced,
		End:   func(ctx context.Context, r *replica) { r.stopSockets(ctx) },
		Retry: func() time.Duration { return retryDelay(4) }, Stopping: s.stopping,
		Report: s.outageLog.Call("begin").Report,
	}.Run(ctx)
}

func (s *Server) beginReplica(ctx context.Context) (*replica, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id, err := s.options.Store.BeginReplica(ctx, s.options.Region)
	if err != nil {
		return nil, err
	}
	r := s.newReplica(id)
	s.currentReplica.Store(r)
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "replica begins", slog.String("replica", id.String()))
	return r, nil
}

// holdLease renews the lease and follows notifications. It returns true when others have ended this id, and false when the
// server stops.
func (r *replica) holdLease(ctx context.Context) (superseded bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	// Not the result of a goroutine: the loops below must end before this returns, and they end by cancel.
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

// leaseTerms is renewed each second, or each tenth of the lease if that is shorter.
func (r *replica) leaseTerms() tenure.Lease {
	o := r.server.options
	return tenure.Lease{
		Every: min(time.Second, o.Store.Timing().LeaseTTL/10), Timeout: callTimeout,
		Renew:  func(ctx context.Context) error { return o.Store.RenewReplica(ctx, o.Region, r.id, r.countAgents()) },
		IsLost: func(err error) bool { return fault.Is(err, fault.Superseded) },
		Report: r.server.outageLog.Call("renew").Report,
	}
}

// countAgents counts the agents for the metrics. Among the agents that have missed no poll, it returns the longest time
// since a last reply.
func (r *replica) countAgents() (silence time.Duration) {
	now := time.Now()
	joining, listed, stale := 0, 0, 0
	for _, s := range r.sockets.Conns() {
		s.mu.Lock()
		c := s.conversation
		switch {
		case c.hasEnded:
		case !c.hasState:
			joining++
		case c.missedPolls >= staleMisses:
			stale++
		default:
			listed++
			if c.missedPolls == 0 {
				// Of those that have missed one, the lanes record how long they have been silent.
				silence = max(silence, now.Sub(c.heardAt))
			}
		}
		s.mu.Unlock()
	}
	r.server.metrics.countAgents(joining, listed, stale)
	return silence
}

// followTopic calls read after each notification to this replica, and at least each second.
func (r *replica) followTopic(ctx context.Context, name string, read func(context.Context) error) {
	notified, stop := r.server.options.Store.Subscribe(db.TopicReplica(r.id), r.server.options.Region)
	defer stop()
	follow.Loop{
		Name: "agent reader", Every: lookEvery, Timeout: callTimeout, Wakes: follow.Wakes{notified},
		Do: func(ctx context.Context, _ bool) error { return read(ctx) }, Guard: r.server.guard,
		Report: r.server.outageLog.Call(name).Report,
	}.Run(ctx)
}

// readAgents reads the changes that other replicas and workers have made to this replica's agents. If a row may have
// been read before the agent's last own write, it is read again.
func (r *replica) readAgents(ctx context.Context) error {
	// Before the statement: what the lanes record from here on may be newer than what it reads.
	at := r.nextMoment()
	own, err := r.server.options.Store.OwnAgents(ctx, r.server.options.Region, r.id, r.readFrom)
	if err != nil {
		return err
	}
	if own.IsComplete {
		r.fenceOthers(at, own.Changed)
	}
	for _, a := range own.Changed {
		s := r.sockets.Get(a.ID)
		switch {
		case s == nil:
		case a.HasLeft:
			s.endFenced()
		// The position stays, so that the row is read again, after the lane's own write.
		case !s.rowRead(at, recordOf(a.State)):
			own.NextTx = r.readFrom
		}
	}
	r.readFrom = own.NextTx
	return nil
}

// fenceOthers closes the connections of agents that joined before at and are not in the list all, the replica's agents:
// their rows are gone.
func (r *replica) fenceOthers(at moment, all []db.OwnAgent) {
	listed := make(map[string]bool, len(all))
	for _, a := range all {
		listed[a.ID] = true
	}
	for _, s := range r.sockets.Conns() {
		if !listed[s.agentID] && s.joinedBefore(at) {
			s.endFenced()
		}
	}
}

// pendingPage is the size of a page of db.Store.PendingCommands.
const pendingPage = 4096

// sendPending sends the pending commands. The list includes commands that were already sent; a conversation sends each
// command once.
func (r *replica) sendPending(ctx context.Context) error {
	after := uuid.Nil
	for {
		page, err := r.server.options.Store.PendingCommands(ctx, r.server.options.Region, r.id, after)
		if err != nil {
			return err
		}
		for _, c := range page {
			if s := r.sockets.Get(c.AgentID); s != nil {
				s.sendCommand(command{c.ID.String(), string(c.Op), c.RawID, c.RoomType})
			}
		}
		if len(page) < pendingPage {
			return nil
		}
		after = page[len(page)-1].ID
	}
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
	// Before the sockets are closed: an agent that joins another replica takes the place of its row here only if this
	// one has ended.
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

func (r *replica) endReplica(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := r.server.options.Store.EndReplica(ctx, r.server.options.Region, r.id,
		keptBeats*r.server.options.Heartbeat); err != nil {
		r.server.options.Log.LogAttrs(ctx, slog.LevelWarn,
			"the end of the replica was not recorded: its agents leave with its lease", slog.Any("error", err))
	}
}
