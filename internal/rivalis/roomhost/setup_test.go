package roomhost_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/rivalis/roomhost"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const region = "global"

// bundle is a test's own database, with a replica that holds agents' connections.
type bundle struct {
	*storetest.DB

	t       *testing.T
	replica uuid.UUID

	mu        sync.Mutex
	destroyed []string // rooms that the host destroyed
	agents    int
}

func setup(t *testing.T, change ...func(*db.Config)) *bundle {
	t.Helper()
	b := &bundle{DB: storetest.New(t, change...), t: t}
	b.replica = b.begin()
	return b
}

func (b *bundle) begin() uuid.UUID {
	b.t.Helper()
	return must.Get(b.BeginReplica(b.t.Context(), region))(b.t)
}

// run runs the host of a replica until the test ends or stop is called.
func (b *bundle) run(replica uuid.UUID) (stop func()) { return b.runOn(b.Store, replica) }

func (b *bundle) runOn(store roomhost.Store, replica uuid.UUID) (stop func()) {
	b.t.Helper()
	h := roomhost.New(roomhost.Options{
		Store: store, Region: region, Replica: func() uuid.UUID { return replica }, Destroy: func(_ context.Context, room string) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.destroyed = append(b.destroyed, room)
			return nil
		},
		Log: slog.New(slog.NewTextHandler(b.t.Output(), nil)),
	})
	return background.Loop(b.t, h.Run)
}

// agent is the agent of a process with the label matchmaking=true.
func (b *bundle) agent(replica uuid.UUID, n int, change ...func(*db.AgentContent)) db.AgentJoin {
	b.agents++
	j := storetest.AgentJoin(db.AgentRef{Region: region, ID: fmt.Sprintf("%016x", b.agents), ReplicaID: replica}, fmt.Sprint("eu", n))
	j.Content.ProcessUID, j.Content.EndpointURL = fmt.Sprintf("p_%024x", n), fmt.Sprintf("wss://eu%d.example", n)
	j.Content.Labels, j.Content.RoomTypes = map[string]string{"matchmaking": "true"}, []string{"duel", "no mode!"}
	j.Content = variant.Apply(j.Content, change...)
	return j
}

func (b *bundle) join(j db.AgentJoin) db.AgentJoin {
	b.t.Helper()
	must.Get(b.JoinAgent(b.t.Context(), j))(b.t)
	b.Notify(db.TopicFleet, region)
	return j
}

// place waits for a game server and then places a player.
func (b *bundle) place(player, mode string) db.Placement {
	b.t.Helper()
	var placed db.Placement
	require.Eventually(b.t, func() bool {
		var err error
		placed, err = b.Place(b.t.Context(),
			db.PlaceRequest{Caller: player, Region: region, Mode: mode, MaxPlayers: 2, Party: []string{player}})
		return err == nil
	}, 10*time.Second, 20*time.Millisecond)
	return placed
}

func sessionOf(p db.Placement) string { return p.SessionID[strings.LastIndex(p.SessionID, ".")+1:] }
