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
func (b *bundle) run(replica uuid.UUID) (stop func()) {
	b.t.Helper()
	h := roomhost.New(roomhost.Options{
		Store: b.Store, Region: region, Replica: func() uuid.UUID { return replica }, Destroy: b.destroy,
		Log: slog.New(slog.NewTextHandler(b.t.Output(), nil)),
	})
	return background.Loop(b.t, h.Run)
}

func (b *bundle) destroy(_ context.Context, room string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.destroyed = append(b.destroyed, room)
	return nil
}

// agent is the agent of a process with the label matchmaking=true.
func (b *bundle) agent(replica uuid.UUID, n int, change ...func(*db.AgentContent)) db.AgentJoin {
	b.agents++
	j := db.AgentJoin{
		Ref:            db.AgentRef{Region: region, ID: fmt.Sprintf("%016x", b.agents), ReplicaID: replica},
		KeyFingerprint: "key#01234567", StateHash: "h", ReplySeq: 1,
		Content: db.AgentContent{
			Name: fmt.Sprint("eu", n), ProcessUID: fmt.Sprintf("p_%024x", n), AgentVersion: "8.0.0", ProtocolVersion: 3,
			EndpointURL: fmt.Sprintf("wss://eu%d.example", n),
			Labels:      map[string]string{"matchmaking": "true"}, RoomTypes: []string{"duel", "no mode!"},
			AutoCreate: true,
			Status:     db.AgentActive,
		},
	}
	for _, c := range change {
		c(&j.Content)
	}
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
