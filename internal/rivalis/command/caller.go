package command

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	readInterval = time.Second // between two reads without a notification
	// readPause is the least time between two reads, so that commands settled in the meantime share the next read.
	readPause   = 2 * time.Millisecond
	readTimeout = 5 * time.Second // of one read
	// expireAgain is the delay before a command is read again whose deadline has not passed by the database's clock.
	expireAgain = 100 * time.Millisecond
	rosterWait  = 250 * time.Millisecond // within which the replica's roster should include the change of an answer
	maxWaiting  = 4096                   // the default of Options.MaxWaiting
)

// Store is the part of the database that a Caller uses; [db.Store] implements it.
type Store interface {
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	CreateRoom(ctx context.Context, r db.NewRoom) (db.Command, error)
	DestroyRoom(ctx context.Context, region, roomID string, caller uuid.UUID, actor string,
		timeout time.Duration) (db.Command, error)
	CommandAgent(ctx context.Context, c db.AgentCommand) (db.Command, error)
	CommandAnswers(ctx context.Context, region string, ids []uuid.UUID) ([]db.CommandAnswer, error)
	ExpireCommand(ctx context.Context, region string, id uuid.UUID) (db.CommandAnswer, error)
}

// Options configures a Caller.
type Options struct {
	Replica func() uuid.UUID // the current id of this replica
	Timeout time.Duration    // time from the insertion of a command to its deadline
	// NearestAgents returns [db.NewRoom.NearestAgents]; nil: the whole fleet is read for each room.
	NearestAgents func(r db.NewRoom) []string
	// WaitFor returns when the replica's roster includes the transaction, or ctx ends; nil: answers do not wait.
	WaitFor    func(ctx context.Context, tx uint64)
	MaxWaiting int           // maximum number of commands in progress; 0 means 4,096
	Log        *slog.Logger  // nil: silent
	Guard      *panics.Guard // recovers panics of the caller's goroutines, which then try again; may be nil
}

// Caller inserts commands of a region and waits for their answers. Make it with [New], and Run it once. Safe for
// concurrent use.
type Caller struct {
	options Options

	store  Store
	region string

	hasRun    atomic.Bool
	stopped   chan struct{} // closed when Run has ended
	readNow   chan struct{} // holds one signal: read now
	wakeCount atomic.Uint64 // notifications so far

	expiringCalls sync.WaitGroup

	mu         sync.Mutex
	takenSlots int // taken by calls that insert a command, or wait for one
	waiterByID map[uuid.UUID]*waiter
}

// New returns a Caller.
func New(store Store, region string, o Options) *Caller {
	o.MaxWaiting = cmp.Or(o.MaxWaiting, maxWaiting)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Caller{options: o, store: store, region: region, stopped: make(chan struct{}),
		readNow:    make(chan struct{}, 1),
		waiterByID: map[uuid.UUID]*waiter{}}
}

// Create creates a room. It returns when the room exists, when it cannot be created, or at the deadline. It sets
// Region, CallerReplica, Timeout and NearestAgents of r. The state of the answer is [db.CommandDone],
// [db.CommandDoneLate], [db.CommandExists], [db.CommandFailed], [db.CommandDisconnected] or [db.CommandTimedOut]. If
// ctx ends, the command continues. Errors: those of [db.Store.CreateRoom]; Unavailable if the outcome is unknown.
func (c *Caller) Create(ctx context.Context, r db.NewRoom) (db.CommandAnswer, error) {
	return c.insertAndWait(ctx, func() (db.Command, error) {
		// The id is read at each call: a replica that others have ended continues under another id, to which answers are
		// notified.
		r.Region, r.CallerReplica, r.Timeout = c.region, c.options.Replica(), c.options.Timeout
		if c.options.NearestAgents != nil {
			r.NearestAgents = c.options.NearestAgents(r)
		}
		return c.store.CreateRoom(ctx, r)
	})
}

// Destroy destroys a room. Otherwise it works as Create. Errors: those of [db.Store.DestroyRoom]; Unavailable if the
// outcome is unknown.
func (c *Caller) Destroy(ctx context.Context, roomID, actor string) (db.CommandAnswer, error) {
	return c.insertAndWait(ctx, func() (db.Command, error) {
		return c.store.DestroyRoom(ctx, c.region, roomID, c.options.Replica(), actor, c.options.Timeout)
	})
}

// Drain drains an agent; with keep, also agents that join later with the same name and endpoint. Otherwise it works as
// Create. Errors: those of [db.Store.CommandAgent]; Unavailable if the outcome is unknown.
func (c *Caller) Drain(ctx context.Context, agentID, actor string, keep bool) (db.CommandAnswer, error) {
	return c.commandAgent(ctx, db.AgentCommand{AgentID: agentID, Op: db.CommandDrain, Keep: keep, Actor: actor})
}

// Undrain makes an agent active again. Otherwise it works as Drain.
func (c *Caller) Undrain(ctx context.Context, agentID, actor string) (db.CommandAnswer, error) {
	return c.commandAgent(ctx, db.AgentCommand{AgentID: agentID, Op: db.CommandUndrain, Actor: actor})
}

func (c *Caller) commandAgent(ctx context.Context, command db.AgentCommand) (db.CommandAnswer, error) {
	command.Region, command.CallerReplica, command.Timeout = c.region, c.options.Replica(), c.options.Timeout
	return c.insertAndWait(ctx, func() (db.Command, error) {
		return c.store.CommandAgent(ctx, command)
	})
}

// insertAndWait inserts a command and waits for its answer.
func (c *Caller) insertAndWait(ctx context.Context, insert func() (db.Command, error)) (db.CommandAnswer, error) {
	w, err := c.insertCommand(insert)
	if err != nil {
		return db.CommandAnswer{}, err
	}
	select {
	case <-w.answered:
	// The waiter stays, and keeps its slot: the command has to be settled at its deadline all the same.
	case <-ctx.Done():
		return db.CommandAnswer{}, unavailableError("the command goes on: its outcome is not known yet", ctx.Err())
	// Nobody reads answers or deadlines after Run: a worker settles the command.
	case <-c.stopped:
		return db.CommandAnswer{}, unavailableError(
			"this replica stops: the command goes on, its outcome is not known yet", nil)
	}
	// A caller that lists rooms next should find the change. The wait is bounded, because the answer is true without it.
	if w.err == nil && c.options.WaitFor != nil &&
		(w.answer.FinalState == db.CommandDone || w.answer.FinalState == db.CommandDoneLate) {
		ctx, cancel := context.WithTimeout(ctx, rosterWait)
		defer cancel()
		c.options.WaitFor(ctx, w.answer.SettledTx)
	}
	return w.answer, w.err
}

// insertCommand inserts a command and returns its waiter, which has a slot. Errors: those of insert; Unavailable.
func (c *Caller) insertCommand(insert func() (db.Command, error)) (w *waiter, err error) {
	if err := c.takeSlot(); err != nil {
		return nil, err
	}
	// Deferred, so that an insertion that panics gives its slot back as well.
	defer func() {
		if w == nil {
			c.freeSlot()
		}
	}()
	before := c.wakeCount.Load()
	cmd, err := insert()
	if err != nil {
		return nil, err
	}
	w = c.addWaiter(cmd.ID)
	if c.wakeCount.Load() != before {
		wait.Wake(c.readNow) // the notification of the answer may have arrived before the call was registered
	}
	return w, nil
}

// Run reads the answers until ctx ends; then all waiting calls return Unavailable. During a database outage it retries.
// Errors: Run was called before.
func (c *Caller) Run(ctx context.Context) error {
	if c.hasRun.Swap(true) {
		return errors.New("command: a caller runs once")
	}
	defer c.stopWaiting()
	var receiving sync.WaitGroup
	defer receiving.Wait()
	receiving.Go(func() { c.receiveWakes(ctx) })
	follow.Loop{
		Name: "command answers", Every: readInterval, Pause: follow.AtLeast(readPause), Wakes: follow.Wakes{c.readNow},
		Do: func(ctx context.Context, _ bool) error { return c.readAnswers(ctx) }, Guard: c.options.Guard,
		Report: outage.NewCall(c.options.Log, "answers of agents cannot be read: callers wait",
			"answers of agents can be read again").Report,
	}.Run(ctx)
	return nil
}

// receiveWakes wakes Run when a notification is addressed to the replica, until ctx ends. A replica that was ended
// continues under another id, and therefore with another topic.
func (c *Caller) receiveWakes(ctx context.Context) {
	for ctx.Err() == nil {
		c.receiveFor(ctx, c.options.Replica())
	}
}

// receiveFor wakes Run while the replica has an id.
func (c *Caller) receiveFor(ctx context.Context, id uuid.UUID) {
	notified, stop := c.store.Subscribe(db.TopicReplica(id), c.region)
	defer stop()
	for c.options.Replica() == id {
		// No notification reports that the id has changed: it is compared after each readInterval.
		woken, alive := wait.ForWake(ctx, readInterval, notified)
		if !alive {
			return
		}
		if woken {
			c.wakeCount.Add(1)
			wait.Wake(c.readNow)
		}
	}
}

// readAnswers answers the calls whose commands are settled. It reads them in one statement.
func (c *Caller) readAnswers(ctx context.Context) error {
	ids := c.awaitedIDs()
	// The replica's topic also carries notifications for its agents: without a waiting call they cost no statement.
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answers, err := c.store.CommandAnswers(ctx, c.region, ids)
	for _, a := range answers {
		if a.FinalState != db.CommandPending {
			c.endWait(a.ID, a, nil)
		}
	}
	return err
}

func unavailableError(detail string, cause error) error {
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: detail, RetryAfter: time.Second,
		Err: cause}
}
