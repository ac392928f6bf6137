package server_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/agents/wire"
	"github.com/lattice-director/director/internal/testkit/certtest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// The life of rooms and game servers, on one, two and three replicas.
func TestRivalis(t *testing.T) {
	t.Parallel()
	for replicas := 1; replicas <= 3; replicas++ {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, replicas)
			for i := range 3 {
				name := fmt.Sprintf("eu%d", i)
				g := f.gameServer(name)
				require.NoError(t, g.OpenRoom("lobby #1/"+name, "match"))
				info := g.listed()
				require.Equal(t, []any{name, "wss://" + name + ".example", wire.Active, "8.0.0", int64(3)},
					[]any{info.Name, info.EndpointURL, info.Status, info.AgentVersion, info.ProtocolVersion})
				f.eventually(func() bool { return f.hasRoom("lobby%20%231%2F" + name) })

				// A room of a command is listed with its ack, and stays with the state behind it.
				made := f.create(db.NewRoom{RoomID: "m-" + name, RequiredLabels: map[string]string{"name": name}})
				require.Equal(t, db.CommandDone, made.FinalState)
				require.True(t, f.hasRoom("m-"+name))
				g.SetConnections("m-"+name, 7)
				f.eventually(func() bool { info, _ := g.info(); return info.Connections == 7 })
				require.Equal(t, db.CommandDone, f.destroy("m-"+name).FinalState)
				require.False(t, f.hasRoom("m-"+name))
				require.Equal(t, db.CommandDone, f.destroy("lobby%20%231%2F"+name).FinalState)

				// A room that the game closes is gone with the next state.
				f.create(db.NewRoom{RoomID: "m2-" + name, RequiredLabels: map[string]string{"name": name}})
				require.True(t, g.CloseRoom("m2-"+name))
				f.eventually(func() bool { return !f.hasRoom("m2-" + name) })

				// A drain by a command, and one by the game server, which waits until a poll says that it is recorded.
				require.Equal(t, db.CommandDone, f.command(g.InstanceID(), db.CommandDrain).FinalState)
				require.Equal(t, wire.Draining, g.Snapshot().Status)
				require.NoError(t, g.Undrain(t.Context()))
				require.NoError(t, g.Drain(t.Context()))
				require.Equal(t, wire.Draining, g.listed().Status)
				require.Equal(t, db.CommandDone, f.command(g.InstanceID(), db.CommandUndrain).FinalState)
				f.eventually(func() bool { info, _ := g.info(); return info.Status == wire.Active })

				// With its socket the game server is gone at once.
				id := g.InstanceID()
				g.kill()
				f.eventually(func() bool { _, err := f.store.FindAgent(t.Context(), "global", id); return err != nil })
			}
		})
	}
}

// The replica that has the socket may be another one than that with the caller; without notifications it only takes
// longer.
func TestRivalisCommandsWithoutNotifications(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	g := f.gameServer("eu0")
	g.listed()
	c, err := f.store.CreateRoom(t.Context(),
		db.NewRoom{Region: "global", CallerReplica: uuid.New(), Type: "match", RoomID: "m1", Timeout: wait})
	require.NoError(t, err)
	f.eventually(func() bool { return f.hasRoom("m1") })
	require.Equal(t, db.CommandDone, f.settled(c).FinalState)
}

// With a heartbeat of 50 ms rooms that the game opens are listed; a machine that stalls may cost a connection, and no
// room.
func TestRivalisWithAFastHeartbeat(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, func(c *config) { c.Orchestrator.Options.Heartbeat = 50 * time.Millisecond })
	g := f.gameServer("eu0", func(c *agents.Config) { c.Random = func() float64 { return 0 } })
	g.listed()
	for i := range 20 {
		require.NoError(t, g.OpenRoom(fmt.Sprint(i), "match"))
		f.eventually(func() bool { return f.hasRoom(fmt.Sprint(i)) })
	}
	f.eventually(func() bool { return len(g.listed().Rooms) == 20 })
}

// An agent that does not answer becomes stale, is evicted, and comes back as another instance of the same process with
// its rooms.
func TestRivalisEvictsAndTakesBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	var mute atomic.Bool
	g := f.gameServer("eu0", func(c *agents.Config) {
		c.Random = func() float64 { return 0 }
		c.Send = func(_ string, send func()) {
			if !mute.Load() {
				send()
			}
		}
	})
	require.NoError(t, g.OpenRoom("lobby", "match"))
	before := g.listed()
	f.eventually(func() bool { return f.hasRoom("lobby") })
	mute.Store(true)
	f.eventually(func() bool {
		return f.store.Count("SELECT count(*) FROM events WHERE kind = 'agent.stale' AND instance_id = $1",
			before.ID) == 1
	})
	f.eventually(func() bool { return g.endedWith(4003) })
	f.eventually(func() bool { _, err := f.store.FindAgent(t.Context(), "global", before.ID); return err != nil })
	mute.Store(false)
	f.eventually(func() bool { info, ok := g.info(); return ok && len(info.Rooms) == 1 && info.Rooms[0].ID == "lobby" })
	require.Equal(t, before.ProcessUID, g.listed().ProcessUID)
	require.NotEqual(t, before.ID, g.InstanceID())
}

// An agent whose row was taken is closed by its replica, whatever it was about to write.
func TestRivalisFencesAnAgent(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	g := f.gameServer("eu0", func(c *agents.Config) { c.Random = func() float64 { return 0 } })
	before := g.listed()
	f.store.Exec("UPDATE agent_states SET left_at = now(), tx = pg_current_xact_id() WHERE agent_id = $1", before.ID)
	f.eventually(func() bool { return g.endedWith(4003) })
	f.eventually(func() bool { info, ok := g.info(); return ok && info.ID != before.ID })
}

// A replica that stops leaves its agents to the others: they stay listed, with their rooms and the ids of these, until
// they are elsewhere.
func TestRivalisReplicaStops(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	var servers []*gameServer
	for i := range 6 {
		g := f.gameServer(fmt.Sprintf("eu%d", i), func(c *agents.Config) { c.Random = func() float64 { return 0 } })
		require.NoError(t, g.OpenRoom(fmt.Sprintf("lobby-%d", i), "match"))
		g.listed()
		servers = append(servers, g)
	}
	for i := range servers {
		f.eventually(func() bool { return f.hasRoom(fmt.Sprintf("lobby-%d", i)) })
	}
	f.mu.Lock()
	f.up = f.up[:2] // the balancer knows that the last one stops
	f.mu.Unlock()
	f.replicas[2].stop()
	for i, g := range servers {
		g.listed()
		f.eventually(func() bool { return f.hasRoom(fmt.Sprintf("lobby-%d", i)) })
		select {
		case err := <-g.closed:
			var end websocket.CloseError
			require.ErrorAs(t, err, &end)
			require.Equal(t, websocket.CloseError{Code: 4003, Reason: "room_destroyed"}, end)
		default:
		}
		require.Equal(t, db.CommandDone,
			f.create(db.NewRoom{RoomID: fmt.Sprintf("m-%d", i), RequiredLabels: map[string]string{"name": g.name}}).FinalState)
	}
	require.Contains(t, f.replicas[2].log.String(), `"clean":true`)
	f.eventually(func() bool {
		return f.store.Count("SELECT count(*) FROM agent_states WHERE left_at IS NULL") == len(servers)
	})
}

// The last replica that stops takes its agents along.
func TestRivalisStopsAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	g := f.gameServer("eu0")
	g.listed()
	observer := storetest.Open(t, f.config.db.URL)
	f.stop()
	g.kill()
	n := -1
	require.NoError(t, observer.Pool().QueryRow(t.Context(),
		"SELECT count(*) FROM agent_states WHERE left_at IS NULL").Scan(&n))
	require.Zero(t, n)
}

// A replica that was ended while it was frozen closes its connections and begins anew.
func TestRivalisEndedReplicaBeginsAnew(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	g := f.gameServer("eu0", func(c *agents.Config) { c.Random = func() float64 { return 0 } })
	before := g.listed()
	f.store.Exec("UPDATE replicas SET ended_at = now(), rows_until = now()")
	f.eventually(func() bool { return g.endedWith(4003) })
	f.eventually(func() bool { info, ok := g.info(); return ok && info.ID != before.ID })
	require.Equal(t, 2, f.store.Count("SELECT count(*) FROM replicas"))
}

// While Postgres is away, sockets and polls go on; the newest state is applied when it is back.
func TestRivalisDatabaseOutage(t *testing.T) {
	t.Parallel()
	c := dbtest.NewMigratedCluster(t, pglocal.Options{})
	f := fleetOn(t, c.URL("postgres"), 1, production)
	f.ready()
	g := f.gameServer("eu0")
	before := g.listed()
	end := stop(f.bundle, c)
	require.NoError(t, g.OpenRoom("during", "match"))
	polls := func() float64 { return metrictest.Sum(t, f.registry, "director_agent_poll_seconds") }
	polled := polls()
	f.eventually(func() bool { return polls() > polled+10 })
	require.True(t, g.CloseRoom("during"))
	require.NoError(t, g.OpenRoom("after", "match"))
	end()
	f.eventually(func() bool { return f.hasRoom("after") })
	require.False(t, f.hasRoom("during"))
	require.Equal(t, before.ID, g.InstanceID())
	require.Empty(t, g.closed)
}

// Many calls, polls and changes at once, on two replicas: agents understand every frame, and rows and game servers
// agree at the end.
func TestRivalisUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	var servers []*gameServer
	for i := range 4 {
		g := f.gameServer(fmt.Sprintf("eu%d", i))
		g.listed()
		servers = append(servers, g)
	}
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			for j := range 10 {
				id := fmt.Sprintf("m-%d-%d", i, j)
				if f.create(db.NewRoom{RoomID: id}).FinalState == db.CommandDone && j%2 == 0 {
					f.destroy(id)
				}
			}
		})
		servers[i%4].SetConnections("none", 1)
	}
	calls.Wait()
	for _, g := range servers {
		f.eventually(func() bool {
			info, ok := g.info()
			return ok && len(info.Rooms) == len(g.Snapshot().Rooms)
		})
		require.Empty(t, g.closed)
	}
	f.eventually(func() bool { return f.store.Count("SELECT count(*) FROM rooms WHERE state = 'reported'") == 80 })
	require.NotContains(t, f.log.String(), "panic")
}

// A key that is a row lets in the game servers that it is bound to, until it is revoked.
func TestRivalisKeysInTheDatabase(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	secret, _, err := f.store.CreateAgentKey(t.Context(),
		db.NewAgentKey{Region: "global", Name: "eu", BoundLabels: map[string]string{"name": "eu0"}, Actor: "test"})
	require.NoError(t, err)
	with := func(c *agents.Config) { c.Key = secret }
	bound, other := f.gameServer("eu0", with), f.gameServer("eu1", with)
	info := bound.listed() // after the replicas have read the key: until then it is refused
	f.eventually(func() bool { return other.InstanceID() != "" })
	_, listed := other.info()
	require.False(t, listed, "its labels are not those of the key")
	for len(bound.closed) > 0 {
		require.Error(t, <-bound.closed)
	}
	require.NoError(t, f.store.RevokeAgentKey(t.Context(), "global", "eu", "test"))
	require.Equal(t, websocket.StatusCode(4001), websocket.CloseStatus(<-bound.closed))
	f.eventually(func() bool { _, err := f.store.FindAgent(t.Context(), "global", info.ID); return err != nil })
	require.NotContains(t, f.log.String(), secret)
}

// A game server that joins with a name and endpoint that are kept drained gets a drain command.
func TestRivalisKeepsADrain(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	_, err := f.store.KeepDrain(t.Context(), "global", "eu0", "wss://eu0.example", "test")
	require.NoError(t, err)
	g := f.gameServer("eu0")
	require.Equal(t, wire.Draining, g.listed().Status)
	f.eventually(func() bool { return g.Snapshot().Status == wire.Draining })
	require.NoError(t, g.Drain(t.Context()))
	_, err = f.store.UnkeepDrain(t.Context(), "global", "eu0", "wss://eu0.example", "test")
	require.NoError(t, err)
	require.Equal(t, db.CommandDone, f.command(g.InstanceID(), db.CommandUndrain).FinalState)
	require.NoError(t, g.Undrain(t.Context()))
	require.Equal(t, wire.Active, g.listed().Status)
}

// Over TLS no HTTP/2 is offered: clients would choose it, and a WebSocket of theirs begins as HTTP/1.1.
func TestRivalisOverTLS(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	authority.Issue("director")
	cert, key := authority.File("director.pem"), authority.File("director.key")
	f := newFleet(t, 1, func(c *config) { c.TLSCert, c.TLSKey = cert, key })
	transport := &http.Transport{DialContext: f.dial, TLSClientConfig: &tls.Config{RootCAs: authority.Pool},
		ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	f.gameServer("eu0", func(c *agents.Config) {
		c.URL, c.HTTPClient = "wss://director/agents", &http.Client{Transport: transport}
	}).listed()
	res, err := (&http.Client{Transport: transport}).Get("https://director/healthz")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 1, res.ProtoMajor)
}
