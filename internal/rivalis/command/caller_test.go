package command

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/background"
)

func TestACallHereForAConnectionThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.connect(b.ack)
	a, err := b.caller.Create(t.Context(), room("r"))
	b.requireAnswer(db.CommandDone, a, err)
	require.Equal(t, db.RoomInfo{ID: "r", Type: "duel", InstanceID: agent, EndpointURL: "wss://eu0"}, a.CreatedRoom)
	require.Equal(t, []uint64{a.SettledTx}, b.shownTxs, "it waits for the roster")
	_, err = b.caller.Create(t.Context(), room("r"))
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)

	a, err = b.caller.Drain(t.Context(), agent, "key#11111111", false)
	b.requireAnswer(db.CommandDone, a, err)
	_, err = b.caller.Create(t.Context(), room("s"))
	require.True(t, fault.Is(err, fault.NoCapacity), "%v", err)
	a, err = b.caller.Undrain(t.Context(), agent, "key#11111111")
	b.requireAnswer(db.CommandDone, a, err)
	a, err = b.caller.Destroy(t.Context(), "r", "key#11111111")
	b.requireAnswer(db.CommandDone, a, err)
	_, err = b.here.FindRoom(t.Context(), region, "r")
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}

// Without notifications the answers are the same but arrive later.
func TestLostNoticesCostTimeOnly(t *testing.T) {
	t.Parallel()
	b := prepare(t)
	b.run(deaf{b.here})
	b.connect(func(c db.Command) *db.CommandAck {
		a := b.ack(c)
		a.IsOK = c.RoomID == "good"
		return a
	})
	var calls errgroup.Group
	for id, want := range map[string]db.CommandState{"good": db.CommandDone, "bad": db.CommandFailed} {
		calls.Go(func() error {
			a, err := b.caller.Create(t.Context(), room(id))
			if err == nil && a.FinalState != want {
				err = fmt.Errorf("%s: %s", id, a.FinalState)
			}
			return err
		})
	}
	require.NoError(t, calls.Wait())
	require.Len(t, b.shownTxs, 1, "an answer without a change does not wait for the roster")
}

// The database decides that a command has timed out. The agent may still answer after that.
func TestTimeOuts(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Timeout = 100 * time.Millisecond })
	sent := make(chan db.Command, 2)
	b.connect(func(c db.Command) *db.CommandAck { sent <- c; return nil })
	a, err := b.caller.Create(t.Context(), room("r"))
	b.requireAnswer(db.CommandTimedOut, a, err)
	c := <-sent
	require.Equal(t, db.CommandCreate, c.Op)
	b.acknowledge(*b.ack(c))
	_, err = b.here.FindRoom(t.Context(), region, "r")
	require.NoError(t, err)
}

// A lost notification of the answer does not cause a timeout: at the deadline the row decides.
func TestTheRowCountsAtTheDeadline(t *testing.T) {
	t.Parallel()
	b := prepare(t)
	// less than the second between readings
	b.run(deaf{b.here}, func(o *Options) { o.Timeout = 500 * time.Millisecond })
	b.connect(b.ack)
	a, err := b.caller.Create(t.Context(), room("r"))
	b.requireAnswer(db.CommandDone, a, err)
}

func TestACommandOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	release := make(chan struct{})
	acked := make(chan struct{})
	b.connect(func(c db.Command) *db.CommandAck { <-release; close(acked); return b.ack(c) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := b.caller.Create(ctx, room("r")); done <- err }()
	require.Eventually(t, func() bool {
		pending, err := b.there.PendingCommands(t.Context(), region, b.thereID, uuid.Nil)
		return err == nil && len(pending) == 1
	}, testTimeout, time.Millisecond)
	cancel()
	requireUnavailable(t, <-done)
	close(release)
	<-acked
	require.Eventually(t, func() bool {
		_, err := b.here.FindRoom(t.Context(), region, "r")
		return err == nil
	}, testTimeout, time.Millisecond)
	require.Eventually(t, func() bool { return len(b.caller.awaitedIDs()) == 0 }, testTimeout, time.Millisecond,
		"no call waits")
}

// An agent that leaves ends its commands at once.
func TestAnAgentThatLeaves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.connect(func(db.Command) *db.CommandAck {
		if err := b.there.LeaveAgent(context.WithoutCancel(t.Context()), b.ref); err != nil {
			t.Error(err)
		}
		return nil
	})
	a, err := b.caller.Create(t.Context(), room("r"))
	b.requireAnswer(db.CommandDisconnected, a, err)
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.connect(b.ack)
	var calls errgroup.Group
	for n := range 24 { // an agent has at most 32 in flight
		calls.Go(func() error {
			for i := range 10 {
				a, err := b.caller.Create(t.Context(), room(fmt.Sprintf("r%d-%d", n, i)))
				if err != nil || a.FinalState != db.CommandDone {
					return fmt.Errorf("%s: %w", a.FinalState, err)
				}
			}
			return nil
		})
	}
	require.NoError(t, calls.Wait())
	require.Len(t, b.shownTxs, 240)
}

func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	b := prepare(t)
	b.caller = New(b.here, region, Options{Replica: func() uuid.UUID { return b.hereID }, Timeout: testTimeout,
		MaxWaiting: 1})
	stop := background.Run(b.t, b.caller.Run)
	done := make(chan error, 1)
	go func() { _, err := b.caller.Create(t.Context(), room("r")); done <- err }()
	require.Eventually(t, func() bool { return len(b.caller.awaitedIDs()) == 1 }, testTimeout, time.Millisecond)
	_, err := b.caller.Create(t.Context(), room("s"))
	requireUnavailable(t, err)
	stop()
	requireUnavailable(t, <-done)
	_, err = b.caller.Create(t.Context(), room("s"))
	requireUnavailable(t, err)
	require.ErrorContains(t, b.caller.Run(t.Context()), "once")
}

// A refused call frees its slot.
func TestRefusedCallsFreeTheirPlace(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.MaxWaiting = 1 })
	b.connect(b.ack)
	for range 3 {
		_, err := b.caller.Destroy(t.Context(), "nothing", "x")
		require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	}
	for _, id := range []string{"a", "b"} {
		a, err := b.caller.Create(t.Context(), room(id))
		b.requireAnswer(db.CommandDone, a, err)
	}
}

// Pins an insertion that panics and keeps its slot for ever.
func TestACallThatPanicsFreesItsPlace(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) {
		o.MaxWaiting, o.NearestAgents = 1, func(r db.NewRoom) []string {
			if r.RoomID == "bad" {
				panic("a bug")
			}
			return nil
		}
	})
	b.connect(b.ack)
	for range 2 {
		require.Panics(t, func() { _, _ = b.caller.Create(t.Context(), room("bad")) })
	}
	a, err := b.caller.Create(t.Context(), room("good"))
	b.requireAnswer(db.CommandDone, a, err)
}

// A replica that was ended continues under another id.
func TestANewEpoch(t *testing.T) {
	t.Parallel()
	b := prepare(t)
	var mu sync.Mutex
	replica := b.hereID
	b.run(b.here, func(o *Options) {
		o.Replica = func() uuid.UUID { mu.Lock(); defer mu.Unlock(); return replica }
	})
	b.connect(b.ack)
	next := b.begin(b.here)
	mu.Lock()
	replica = next
	mu.Unlock()
	a, err := b.caller.Create(t.Context(), room("r"))
	b.requireAnswer(db.CommandDone, a, err)
}
