package orchestrator

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
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
	closeSpread = 2 * time.Second // time over which a stopping replica closes its sockets, so that agents do not all reconnect at once
	laneGrace   = 5 * time.Second // time for acks and snapshots that still wait for the database when the sockets are closed
	keptBeats   = 3               // heartbeats for which the agents of a stopping replica stay listed, so that they can reconnect elsewhere
)

// life is the time of a replica id, from BeginReplica until the replica stops or is ended, with the sockets that it owns.
type life struct {
	*Server

	id     uuid.UUID
	ending atomic.Bool     // other replicas may take over its agents' rows
	lanes  context.Context // ends when the lanes must stop writing
	cut    context.CancelFunc
	at     atomic.Int64
	since  uint64 // position from which agents are read next

	mu      sync.Mutex
	sockets map[string]*socket // by the agent's id
	gone    sync.WaitGroup     // counts the sockets
}

func (s *Server) newLife(id uuid.UUID) *life {
	l := &life{Server: s, id: id, sockets: map[string]*socket{}}
	l.lanes, l.cut = context.WithCancel(context.Background())
	return l
}

// moment returns a greater value with each call.
func (l *life) moment() moment { return moment(l.at.Add(1)) }

// add returns false if the life is ending.
func (l *life) add(s *socket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending.Load() {
		return false
	}
	l.sockets[s.id] = s
	l.gone.Add(1)
	return true
}

func (l *life) remove(s *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sockets, s.id)
	l.gone.Done()
}

func (l *life) all() []*socket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.sockets))
}

func (l *life) socket(agentID string) *socket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sockets[agentID]
}

// live starts one life after the other until the server stops. It returns after the last one has ended.
func (s *Server) live(ctx context.Context) {
	for ctx.Err() == nil && !s.isStopping() {
		id, err := s.begin(ctx)
		if err != nil {
			s.waitToRetry(ctx)
			continue
		}
		l := s.newLife(id)
		s.life.Store(l)
		s.options.Log.LogAttrs(ctx, slog.LevelInfo, "replica begins", slog.String("replica", id.String()))
		if l.run(ctx) {
			l.fence()
			continue
		}
		l.stop(ctx)
	}
}

func (s *Server) begin(ctx context.Context) (uuid.UUID, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.options.Store.BeginReplica(ctx, s.options.Region)
}

func (s *Server) waitToRetry(ctx context.Context) {
	timer := time.NewTimer(retryDelay(4))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stopping:
	case <-ctx.Done():
	}
}

// run renews the lease and follows notifications. It returns true when another replica or a worker has ended this replica, and false when the server stops.
func (l *life) run(ctx context.Context) (superseded bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ended := make(chan struct{})
	running.Go(func() { l.renew(ctx, ended) })
	running.Go(func() { l.follow(ctx, "commands", l.sendPending) })
	running.Go(func() { l.follow(ctx, "agents", l.readAgents) })
	select {
	case <-ended:
		return true
	case <-l.stopping:
	case <-ctx.Done():
	}
	return false
}

// renew renews the lease each second, or each tenth of the lease if that is shorter, until ctx ends. If the replica has ended, it closes ended.
func (l *life) renew(ctx context.Context, ended chan<- struct{}) {
	every := time.NewTicker(min(time.Second, l.options.Store.Timing().LeaseTTL/10))
	defer every.Stop()
	for {
		err := l.renewOnce(ctx)
		if fault.Is(err, fault.Superseded) {
			close(ended)
			return
		}
		l.trouble.Report(ctx, "renew", err)
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *life) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return l.options.Store.RenewReplica(ctx, l.options.Region, l.id, l.census())
}

// census counts the agents for the metrics. Among the agents that have missed no poll, it returns the longest time since a last reply.
func (l *life) census() (silence time.Duration) {
	now := time.Now()
	joining, listed, stale := 0, 0, 0
	for _, s := range l.all() {
		s.mu.Lock()
		c := s.conversation
		switch {
		case c.ended:
		case !c.accepted:
			joining++
		case c.misses >= staleMisses:
			stale++
		default:
			listed++
			if c.misses == 0 {
				silence = max(silence, now.Sub(c.heard))
			}
		}
		s.mu.Unlock()
	}
	l.metrics.count(joining, listed, stale)
	return silence
}

// follow calls read after each notification to this replica, and at least each second.
func (l *life) follow(ctx context.Context, name string, read func(context.Context) error) {
	wake, stop := l.options.Store.Subscribe(db.TopicReplica(l.id), l.options.Region)
	defer stop()
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for {
		began := time.Now()
		l.trouble.Report(ctx, name, l.readOnce(ctx, read))
		if !wait.For(ctx, time.Since(began)) { // so that reads take at most half of the time at any rate of notifications
			return
		}
		select {
		case <-wake:
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *life) readOnce(ctx context.Context, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return l.guard.Do("agent reader", func() error { return read(ctx) })
}

// readAgents reads the changes that other replicas and workers have made to this replica's agents. If a row may have been read before the
// agent's last own write, it is read again.
func (l *life) readAgents(ctx context.Context) error {
	at := l.moment()
	own, err := l.options.Store.OwnAgents(ctx, l.options.Region, l.id, l.since)
	if err != nil {
		return err
	}
	if own.All {
		l.fenceOthers(at, own.Changed)
	}
	for _, a := range own.Changed {
		s := l.socket(a.ID)
		switch {
		case s == nil:
		case a.Left:
			s.fenced()
		case !s.read(at, recordOf(a.AgentState)):
			own.Next = l.since
		}
	}
	l.since = own.Next
	return nil
}

// fenceOthers closes the connections of agents that joined before at and are not in the list all, the replica's agents: their rows are gone.
func (l *life) fenceOthers(at moment, all []db.OwnAgent) {
	listed := make(map[string]bool, len(all))
	for _, a := range all {
		listed[a.ID] = true
	}
	for _, s := range l.all() {
		if !listed[s.id] && s.joinedBefore(at) {
			s.fenced()
		}
	}
}

// pendingPage is the size of a page of db.Store.PendingCommands.
const pendingPage = 4096

// sendPending sends the pending commands. The list includes commands that were already sent; a conversation sends each command once.
func (l *life) sendPending(ctx context.Context) error {
	after := uuid.Nil
	for {
		page, err := l.options.Store.PendingCommands(ctx, l.options.Region, l.id, after)
		if err != nil {
			return err
		}
		for _, c := range page {
			if s := l.socket(c.AgentID); s != nil {
				s.command(command{c.ID.String(), string(c.Op), c.RawID, c.RoomType})
			}
		}
		if len(page) < pendingPage {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

// fence closes the connections of a replica that was ended: it no longer owns its rows.
func (l *life) fence() {
	l.options.Log.LogAttrs(context.Background(), slog.LevelWarn, "replica was ended by others: its connections are closed", slog.String("replica", l.id.String()))
	l.leaveRows()
	l.cut()
	for _, s := range l.all() {
		s.fenced()
	}
}

// stop leaves the rows to other replicas, and then closes the sockets, so that the agents reconnect to them.
func (l *life) stop(ctx context.Context) {
	l.leaveRows()
	l.endReplica(ctx)
	sockets := l.all()
	for i, s := range sockets {
		if i > 0 {
			wait.For(l.lanes, closeSpread/time.Duration(len(sockets)))
		}
		s.handle(func(c *conversation) effects { return c.finish(closeInvalid, reasonStopped, "the replica stops") })
	}
	late := time.AfterFunc(laneGrace, l.cut)
	defer late.Stop()
	l.gone.Wait()
	l.cut()
}

// leaveRows marks this life as ending. From here on, no agent joins or leaves through this replica.
func (l *life) leaveRows() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending.Store(true)
}

func (l *life) endReplica(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := l.options.Store.EndReplica(ctx, l.options.Region, l.id, keptBeats*l.options.Heartbeat); err != nil {
		l.options.Log.LogAttrs(ctx, slog.LevelWarn, "the end of the replica was not recorded: its agents leave with its lease", slog.Any("error", err))
	}
}
