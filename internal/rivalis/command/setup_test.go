package command

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const (
	region      = "global"
	agent       = "00000000000000aa"
	testTimeout = 30 * time.Second
)

// bundle is two replicas on one database: here has the callers, there has the connection of an agent.
type bundle struct {
	t           *testing.T
	here, there *db.Store
	hereID      uuid.UUID
	thereID     uuid.UUID
	caller      *Caller
	ref         db.AgentRef

	mu       sync.Mutex
	shownTxs []uint64 // transactions for which the caller waited for the roster
}

// deaf is a store without notifications.
type deaf struct{ *db.Store }

func (deaf) Subscribe(string, string) (wake <-chan struct{}, stop func()) { return nil, func() {} }

func setup(t *testing.T, change ...func(*Options)) *bundle {
	t.Helper()
	b := prepare(t)
	b.run(b.here, change...)
	return b
}

func prepare(t *testing.T) *bundle {
	t.Helper()
	url := dbtest.New(t)
	b := &bundle{t: t, here: storetest.Open(t, url), there: storetest.Open(t, url)}
	b.hereID, b.thereID = b.begin(b.here), b.begin(b.there)
	b.ref = db.AgentRef{Region: region, ID: agent, ReplicaID: b.thereID}
	must.Get(b.there.JoinAgent(t.Context(), storetest.AgentJoin(b.ref, "eu0")))(t)
	return b
}

func (b *bundle) begin(s *db.Store) uuid.UUID {
	b.t.Helper()
	return must.Get(s.BeginReplica(b.t.Context(), region))(b.t)
}

// run starts the caller on a store.
func (b *bundle) run(here Store, change ...func(*Options)) {
	b.t.Helper()
	o := variant.Apply(Options{Replica: func() uuid.UUID { return b.hereID }, Timeout: testTimeout,
		WaitFor: func(_ context.Context, tx uint64) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.shownTxs = append(b.shownTxs, tx)
		}}, change...)
	b.caller = New(here, region, o)
	background.Run(b.t, b.caller.Run)
}

// connect plays the replica that holds the agent's connection: it passes each command to reply and settles it with the
// result, unless that is nil.
func (b *bundle) connect(reply func(db.Command) *db.CommandAck) {
	b.t.Helper()
	wake, stop := b.there.Subscribe(db.TopicReplica(b.thereID), region)
	b.t.Cleanup(stop)
	sent := map[uuid.UUID]bool{}
	background.Run(b.t, func(ctx context.Context) error {
		var replying sync.WaitGroup
		defer replying.Wait()
		for {
			pending, err := b.there.PendingCommands(ctx, region, b.thereID, uuid.Nil)
			for _, c := range pending {
				if !sent[c.ID] {
					sent[c.ID] = true
					replying.Go(func() {
						if ack := reply(c); ack != nil {
							b.acknowledge(*ack)
						}
					})
				}
			}
			select {
			case <-ctx.Done():
				return nil
			case <-wake:
			case <-time.After(time.Second):
			}
			if err != nil && ctx.Err() == nil {
				return err
			}
		}
	})
}

func (b *bundle) ack(c db.Command) *db.CommandAck {
	return &db.CommandAck{AgentRef: b.ref, CommandID: c.ID, IsOK: true, RawID: c.RawID, RoomType: c.RoomType}
}

func (b *bundle) acknowledge(a db.CommandAck) {
	_, err := b.there.AcknowledgeCommand(context.WithoutCancel(b.t.Context()), a)
	if err != nil {
		b.t.Errorf("acknowledge: %v", err)
	}
}

func room(id string) db.NewRoom { return db.NewRoom{Type: "duel", RoomID: id, Actor: "key#11111111"} }

func (b *bundle) requireAnswer(want db.CommandState, a db.CommandAnswer, err error) {
	b.t.Helper()
	require.NoError(b.t, err)
	require.Equal(b.t, want, a.FinalState)
}

func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
}
