package roomhost

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
)

const (
	beatInterval = time.Second           // a tenth of the lease where that is shorter
	minInterval  = 50 * time.Millisecond // between two runs: many replicas may notify at once
	callTimeout  = 5 * time.Second       // timeout of the database calls of one run
	// registrations and heartbeats at a time; the others wait, and share transactions
	maxConcurrent = 64
)

// Store is the part of the database that a host uses; [db.Store] implements it.
type Store interface {
	HostProcesses(ctx context.Context, region string, replica uuid.UUID) ([]db.HostProcess, error)
	Register(ctx context.Context, r db.Registration) (db.Registered, error)
	Heartbeat(ctx context.Context, ref db.InstanceRef, load *float64) (db.Alive, error)
	SetDrain(ctx context.Context, ref db.InstanceRef, drain bool) (db.DrainStatus, error)
	LimitSessions(ctx context.Context, region string, most map[string]int) error
	SettleRooms(ctx context.Context, region string, replica uuid.UUID, processes []string) (db.SettledRooms, error)
	OrphanedRooms(ctx context.Context, region string, replica uuid.UUID, processes []string) ([]string, error)
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	Timing() db.Timing
}

// Options configure a [Host]. All but Log and Guard are required.
type Options struct {
	Store   Store
	Region  string           // region of the fleet and of the instances
	Replica func() uuid.UUID // the current id of this replica; zero: it has none at the moment
	// Destroy sends the command that destroys a room; it does not have to wait for the answer.
	Destroy func(ctx context.Context, roomID string) error
	Log     *slog.Logger  // nil is silent
	Guard   *panics.Guard // recovers panics, after which the next run tries again; may be nil
}

// Host registers the processes of this replica's agents, and makes their rooms match their sessions. Make it with
// [New], and Run it once.
type Host struct {
	options Options

	mu               sync.Mutex
	refusedProcesses map[string]bool // processes that cannot be registered; each is logged once
}

// New returns a host.
func New(o Options) *Host {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Host{options: o, refusedProcesses: map[string]bool{}}
}

// Run runs the host until ctx ends. During a database outage it retries.
func (h *Host) Run(ctx context.Context) {
	wake, stop := h.options.Store.Subscribe(db.TopicFleet, h.options.Region)
	defer stop()
	every := min(beatInterval, h.options.Store.Timing().LeaseTTL/10)
	follow.Loop{
		Name: "rooms of sessions", Every: every, Timeout: callTimeout, Wakes: follow.Wakes{wake},
		Pause: func(took time.Duration) time.Duration { return restAfter(took, every) },
		Do:    h.runOnce, Guard: h.options.Guard,
		Report: outage.NewCall(h.options.Log, "sessions of agents' processes cannot be settled",
			"sessions of agents' processes can be settled again").Report,
	}.Run(ctx)
}

// restAfter returns the pause after a run: twice its time, so that a large fleet that never rests costs a third of a
// connection, but not so long that leases are renewed late.
func restAfter(took, beat time.Duration) time.Duration {
	return min(max(2*took, minInterval), beat)
}

// runOnce registers the processes and settles their rooms once. With beat it also renews their leases.
func (h *Host) runOnce(ctx context.Context, beat bool) error {
	replica := h.options.Replica()
	// If the replica has lost its id, its processes belong to its next id, or to other replicas.
	if replica == uuid.Nil {
		return nil
	}
	processes, err := h.options.Store.HostProcesses(ctx, h.options.Region, replica)
	if err != nil || len(processes) == 0 {
		return err
	}
	if err := h.updateInstances(ctx, processes, beat); err != nil {
		return err
	}
	ids := make([]string, len(processes))
	for i, p := range processes {
		ids[i] = p.ProcessUID
	}
	if err := h.settleRooms(ctx, replica, ids); err != nil {
		return err
	}
	return h.destroyOrphans(ctx, replica, ids)
}

// updateInstances registers processes, renews their leases, and sets the limits of their sessions, where that is due.
func (h *Host) updateInstances(ctx context.Context, processes []db.HostProcess, beat bool) error {
	limits := map[string]int{}
	// An error of one call does not end the others: their leases would run out for a fault that is not theirs.
	var calls errgroup.Group
	calls.SetLimit(maxConcurrent)
	for _, p := range processes {
		r, ok := registrationOf(p, h.options.Region)
		if p.IsReplaced || !ok {
			h.logOnce(ctx, p, "")
			continue
		}
		if p.IsSilent {
			continue // the lease of an agent that does not answer runs out
		}
		if mustRegister(p, r) {
			calls.Go(func() error { return h.registerOne(ctx, p, r) })
			continue
		}
		// The process and its instance both have a limit, or neither: otherwise it would be registered.
		if r.MaxSessions != nil && *r.MaxSessions != int(*p.Instance.MaxSessions) {
			limits[p.ProcessUID] = *r.MaxSessions
		}
		// Renewals are writes: runs that a notification starts make none, however many come.
		if beat || mustChangeDrain(p) {
			calls.Go(func() error { return h.renewLease(ctx, p, r) })
		}
	}
	if err := calls.Wait(); err != nil {
		return err
	}
	if len(limits) == 0 {
		return nil
	}
	// One statement sets all limits, which change with each room that a game itself makes.
	return h.options.Store.LimitSessions(ctx, h.options.Region, limits)
}

// registerOne registers a process. It logs a refusal, which concerns this process only.
func (h *Host) registerOne(ctx context.Context, p db.HostProcess, r db.Registration) error {
	err := h.registerAndDrain(ctx, p, r)
	if refused, is := fault.AsDecision(err); is {
		h.logOnce(ctx, p, refused.Code)
		return nil
	}
	return err
}

func (h *Host) registerAndDrain(ctx context.Context, p db.HostProcess, r db.Registration) error {
	registered, err := h.options.Store.Register(ctx, r)
	if err != nil || !p.Draining {
		return err
	}
	// A registration makes an instance ready: it drains again as its agent does.
	_, err = h.options.Store.SetDrain(ctx,
		db.InstanceRef{InstanceID: p.ProcessUID, Incarnation: &registered.Incarnation}, true)
	return err
}

// renewLease renews the lease of a process, and drains or undrains its instance as its agent does. An operator's drain
// of the instance stays in force.
func (h *Host) renewLease(ctx context.Context, p db.HostProcess, r db.Registration) error {
	err := h.beatAndDrain(ctx, p, r)
	if _, is := fault.AsDecision(err); is {
		return nil // the process was registered again in the meantime, or its lease expired: the next run registers it
	}
	return err
}

func (h *Host) beatAndDrain(ctx context.Context, p db.HostProcess, r db.Registration) error {
	ref := db.InstanceRef{InstanceID: p.ProcessUID, Incarnation: &p.Instance.Incarnation}
	if _, err := h.options.Store.Heartbeat(ctx, ref, r.Load); err != nil {
		return err
	}
	if !mustChangeDrain(p) {
		return nil
	}
	_, err := h.options.Store.SetDrain(ctx, ref, p.Draining)
	return err
}

// maxRefused bounds the processes for which logOnce remembers that it has logged them.
const maxRefused = 1000

// logOnce logs once that a process cannot be registered; refusal is the code of the registration's error, if that was
// the reason. It does not log the process id, because the agent chose that text.
func (h *Host) logOnce(ctx context.Context, p db.HostProcess, refusal string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.refusedProcesses) > maxRefused {
		// Agents choose the ids: forgetting them bounds the memory, and costs some more lines of the log.
		clear(h.refusedProcesses)
	}
	if !h.refusedProcesses[p.ProcessUID] {
		h.refusedProcesses[p.ProcessUID] = true
		h.options.Log.LogAttrs(ctx, slog.LevelWarn,
			"the process of an agent cannot host sessions: it has no endpoint, no room type that is a mode, "+
				"no connections, its id is another game server's, or its registration was refused",
			slog.Bool("taken", p.IsReplaced), slog.String("refusal", refusal))
	}
}

// settleRooms makes the rooms of processes match their sessions, as db.Store.SettleRooms does, until nothing is left.
func (h *Host) settleRooms(ctx context.Context, replica uuid.UUID, processes []string) error {
	for {
		done, err := h.options.Store.SettleRooms(ctx, h.options.Region, replica, processes)
		// If nothing could be done although there is more, the next run tries again.
		if err != nil || !done.HasMore || done.SessionsWithRoom+done.ClosedSessions == 0 {
			return err
		}
	}
}

// destroyOrphans destroys the rooms whose session has ended.
func (h *Host) destroyOrphans(ctx context.Context, replica uuid.UUID, processes []string) error {
	rooms, err := h.options.Store.OrphanedRooms(ctx, h.options.Region, replica, processes)
	if err != nil {
		return err
	}
	for _, id := range rooms {
		err := h.options.Destroy(ctx, id)
		// A refusal, of a room that is gone or an agent that is busy, concerns this room only: if the room still exists,
		// the next run lists it again. After another error the other rooms would fail as well.
		if _, isRefused := fault.AsDecision(err); err != nil && !isRefused {
			return err
		}
	}
	return nil
}
