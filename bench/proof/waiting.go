package proof

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Players arrive at a fixed rate at one replica and are placed at once; latency counts from when a call was due. Runs
// alternate between no other clients and guests of bevygap that wait, each on a WebSocket, for a mode whose pool may
// have no server. The replica sends each of them a report every five seconds, and writes their demand as often. The
// worker is a process of its own.
//
// The waiting clients run in the process of the load, on the same machine, so that what they cost there counts too.
// Memory is that of the first round, in which the replica has none left of an earlier one.
var waiting = Experiment{
	Name: "waiting", Title: "Sockets that wait", Takes: "3 min",
	About: "Whether guests of bevygap who wait for a server slow down placement, and what a waiting socket holds",
	// All requests come from one address and wait for longer than a run.
	lab: lab.Options{Worker: true, Env: []string{
		"DIRECTOR_BEVYGAP=guests", "DIRECTOR_BEVYGAP_WAIT=10m", "DIRECTOR_BEVYGAP_PER_ADDRESS=20000",
	}},
	arms: waitingArms,
	claims: []claim{
		{"matchmake's p99 beside 5,000 waiting sockets, compared with none", ratio(placedBeside, placedAlone, p99),
			atMost(1.2)},
		{"memory of the replica for a waiting socket", reduceRounds(first, kibibytes, func(r round) float64 {
			return (memory.read(r[placedBeside]) - memory.read(r[placedAlone])) / sockets
		}, placedBeside, placedAlone), atMost(64 << 10)},
		{"sockets whose wait ended during a run", total(valueOf("ended", inFull), placedBeside), atMost(0)},
		{"calls that failed beside them", failures(placedBeside), atMost(0)},
		{"calls that failed without them", failures(placedAlone), atMost(0)},
	},
}

// The arms, by their names in the report.
const (
	placedAlone  = "matchmake, no sockets"
	placedBeside = "matchmake, beside waiting sockets"
)

// sockets is how many guests wait.
const sockets = 5000

// waitingArms measure the replica without the worker, which has no sockets.
func waitingArms(ctx context.Context, b *testbed) ([]arm, error) {
	if err := b.sql(ctx, "waiting_pool.sql", prefilledRegion); err != nil {
		return nil, err
	}
	load := b.options.loadPrefilled(matchmake)
	load.Load.Rate, load.Load.Callers = 300, 256
	// The measurement is four times the interval of reports.
	load.WarmUp, load.Duration = 5*time.Second, 20*time.Second
	replica := side{b, b.director(lab.Web).urls, b.lab.Meter(b.lab.Replicas...)}
	alone, beside := replica.arm(placedAlone, load), replica.arm(placedBeside, load)
	g := &guests{url: "ws" + strings.TrimPrefix(replica.urls[0], "http") + "/matchmaker/ws"}
	beside.preparation = append(beside.preparation, func(ctx context.Context) error {
		return g.gather(ctx, choose(b.options, sockets, 8))
	})
	beside.complete = func(ctx context.Context, r *bench.Result) error {
		r.Values["ended"] = float64(g.ended.Load())
		g.leave() // after the count: leaving ends all of them
		return b.await(30*time.Second, "waiting_demand.sql")(ctx)
	}
	return []arm{alone, beside}, nil
}

// guests are clients of bevygap that wait.
type guests struct {
	url     string
	cancel  context.CancelFunc // closes their sockets, without a handshake, which each of thousands would wait for
	readers sync.WaitGroup
	ended   atomic.Int64 // whose socket ended
}

// gather returns when the replica has stored the demand of n new guests.
func (g *guests) gather(ctx context.Context, n int) error {
	ctx, g.cancel = context.WithCancel(ctx)
	g.ended.Store(0)
	sockets := make([]*websocket.Conn, n)
	err := bench.Concurrently(ctx, n, 64, func(ctx context.Context, i int) (err error) {
		sockets[i], err = askForServer(ctx, g.url)
		return err
	})
	if err != nil {
		return err
	}
	accepted := make(chan error, n)
	for _, ws := range sockets {
		g.readers.Go(func() {
			// The answers come together: a replica accepts those who wait when it next writes their demand.
			err := awaitAccepted(ctx, ws)
			accepted <- err
			for err == nil { // reports, until the socket ends
				_, _, err = ws.Read(ctx)
			}
			g.ended.Add(1)
		})
	}
	for range n {
		err = errors.Join(err, <-accepted)
	}
	return err
}

// leave ends all of them.
func (g *guests) leave() {
	g.cancel()
	g.readers.Wait()
}

// askForServer connects and sends what bevygap's client sends.
func askForServer(ctx context.Context, url string) (*websocket.Conn, error) {
	ws, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	return ws, ws.Write(ctx, websocket.MessageText, []byte(`{"game":"waits","version":"1","client_ip":null}`))
}

// awaitAccepted reads frames until the replica has stored that the client waits.
func awaitAccepted(ctx context.Context, ws *websocket.Conn) error {
	for {
		_, frame, err := ws.Read(ctx)
		if err != nil {
			return err
		}
		switch words := string(frame); {
		case strings.HasPrefix(words, `{"SessionRequestAccepted":`):
			return nil
		case strings.HasPrefix(words, `{"Error":`), strings.HasPrefix(words, `{"SessionReady":`):
			return fmt.Errorf("a client that should wait got %.100q", words)
		}
	}
}
