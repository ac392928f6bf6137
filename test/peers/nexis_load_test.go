package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/test/rigtest"
)

const (
	loadClients = 200
	loadRooms   = 20
	loadTime    = 5 * time.Second
	idleClients = 1000
)

// TestNexisBesideOurs puts the same load on Nexis' server and on a replica, one after the other, and prints what each
// has done. It demands only that every request succeeds: the figures are those of the machine.
func TestNexisBesideOurs(t *testing.T) { //nolint:paralleltest // it measures
	for _, server := range []struct {
		name  string
		start func(*testing.T) nexisServer
	}{{"Nexis", startNexis}, {"director", startOurs}} {
		t.Run(server.name, func(t *testing.T) {
			s := server.start(t)
			atRest := rigtest.MemoryOf(s.pid, "VmRSS")
			clients := connectLoad(t, s.url, loadClients)
			echoes := measure(t, clients, (*loadClient).echo)
			changes := measure(t, clients, (*loadClient).change)
			busy := rigtest.MemoryOf(s.pid, "VmRSS")
			connectLoad(t, s.url, idleClients)
			t.Logf("%d clients in %d rooms: %.0f echoes/s, %.0f changes/s; %d MiB at rest, %d MiB after that, %d MiB with %d clients more",
				loadClients, loadRooms, echoes, changes, atRest>>20, busy>>20, rigtest.MemoryOf(s.pid, "VmRSS")>>20, idleClients)
		})
	}
}

// loadClient is a client in a room with a counter. It acknowledges states, as Nexis' SDK does. It is for one goroutine.
type loadClient struct {
	conn *websocket.Conn
	room string
	rid  int
}

// connectLoad connects clients and lets them join rooms.
func connectLoad(t *testing.T, url string, n int) (clients []*loadClient) {
	t.Helper()
	for i := range n {
		c := &loadClient{conn: dialNexis(t, url), room: fmt.Sprintf("%s:%d-%d", rigtest.CounterRoom, n, i%loadRooms)}
		_, _, err := c.conn.Read(t.Context())
		require.NoError(t, err)
		require.NoError(t, c.ask(t.Context(), "room.join_or_create", frame{"roomType": rigtest.CounterRoom}))
		clients = append(clients, c)
	}
	return clients
}

func (c *loadClient) write(ctx context.Context, f frame) error {
	return c.conn.Write(ctx, websocket.MessageText, []byte(jsonOf(f)))
}

func (c *loadClient) echo(ctx context.Context) error { return c.ask(ctx, "echo", frame{"x": 1}) }

func (c *loadClient) change(ctx context.Context) error {
	return c.ask(ctx, "room.message", frame{"type": "inc", "data": frame{"by": 1}})
}

// ask sends a request and reads until its answer. Nexis answers an echo with an event.
func (c *loadClient) ask(ctx context.Context, kind string, p frame) error {
	c.rid++
	request := frame{"v": 1, "t": kind, "rid": strconv.Itoa(c.rid), "p": p}
	if kind != "echo" {
		request["room"] = c.room
	}
	if err := c.write(ctx, request); err != nil {
		return err
	}
	for {
		_, text, err := c.conn.Read(ctx)
		if err != nil {
			return err
		}
		var f struct {
			T, RID string
			P      struct {
				OK  bool
				Seq int
			}
		}
		_ = json.Unmarshal(text, &f)
		switch {
		case f.T == "state.snapshot" || f.T == "state.patch":
			if err := c.write(ctx, frame{"v": 1, "t": "state.ack", "room": c.room, "p": frame{"seq": f.P.Seq}}); err != nil {
				return err
			}
		case f.T == "echo" && kind == "echo":
			return nil
		case f.T == "rpc.response" && f.RID == request["rid"]:
			if !f.P.OK {
				return fmt.Errorf("%s: %s", kind, text)
			}
			return nil
		}
	}
}

// measure lets all clients make requests, each after the answer to the one before, and returns how many were answered
// in a second.
func measure(t *testing.T, clients []*loadClient, request func(*loadClient, context.Context) error) float64 {
	t.Helper()
	var answered atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(loadTime)
	for _, c := range clients {
		wg.Go(func() {
			for time.Now().Before(end) {
				if err := request(c, t.Context()); err != nil {
					t.Errorf("%v", err)
					return
				}
				answered.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(answered.Load()) / loadTime.Seconds()
}
