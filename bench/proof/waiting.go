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
	// all requests come from one address and wait for longer than a run
	parts: inOneLab(lab.Options{Worker: true, Env: []string{
		"DIRECTOR_BEVYGAP=guests", "DIRECTOR_BEVYGAP_WAIT=10m", "DIRECTOR_BEVYGAP_PER_ADDRESS=20000",
	}}, waitingArms),
	claims: waitingClaims,
}

// The arms, by their names in the report.
const (
	placedAlone  = "matchmake, no sockets"
	placedBeside = "matchmake, beside waiting sockets"
)

// sockets is how many guests wait.
func (o Options) sockets() int { return choose(o, 5000, 8) }

// waitingArms measure the replica without the worker, which has no sockets.
func waitingArms(ctx context.Context, b *testbed) ([]arm, error) {
	if err := b.sql(ctx, "waiting_pool.sql", prefilledRegion); err != nil {
		return nil, err
	}
	options := b.options.loadPrefilled(matchmake)
	options.Load.Rate, options.Load.Callers = 300, 256
	// four times the interval of reports
	options.WarmUp, options.Duration = choose(b.options, 5*time.Second, 50*time.Millisecond),
		choose(b.options, 20*time.Second, 200*time.Millisecond)
	replica := side{b.director(lab.Web).urls, b.lab.Meter(b.lab.Replicas...)}
	alone, beside := b.arm(placedAlone, replica, options), b.arm(placedBeside, replica, options)
	beside.run = b.besideWaiting(beside.run)
	return prepareEach([]arm{alone.finish(b.deleteRun), beside.finish(b.deleteRun)}, b.settle), nil
}

// besideWaiting wraps a run during which clients wait. Its value is how many of them had ended before the run had.
func (b *testbed) besideWaiting(run runFunc) runFunc {
	return func(ctx context.Context) (result bench.Result, err error) {
		c := &socketCrowd{url: "ws" + strings.TrimPrefix(b.lab.Replicas[0].At(lab.Web), "http") + "/matchmaker/ws"}
		err = c.gather(ctx, b.options.sockets())
		if err == nil {
			b.options.say("%d sockets wait", b.options.sockets())
			result, err = run(ctx)
		}
		result.Values = map[string]float64{"ended": float64(c.ended.Load())}
		c.leave() // after the count: leaving ends all of them
		return result, errors.Join(err, b.await(30*time.Second, "waiting_demand.sql")(ctx))
	}
}

func waitingClaims(o Options) []claim {
	perSocket := inFirstRound(kibibytes, func(r round) float64 {
		return (memory.read(r[placedBeside]) - memory.read(r[placedAlone])) / float64(o.sockets())
	})
	return []claim{
		{"matchmake's p99 beside " + whole(o.sockets()) + " waiting sockets, compared with none",
			ratio(placedBeside, placedAlone, p99), atMost(1.2)},
		{"memory of the replica for a waiting socket", perSocket, atMost(64 << 10)},
		{"sockets whose wait ended during a run", total(valueOf("ended", inFull), placedBeside), atMost(0)},
		{"calls that failed beside them", failures(placedBeside), atMost(0)},
		{"calls that failed without them", failures(placedAlone), atMost(0)},
	}
}

// socketCrowd are clients of bevygap that wait.
type socketCrowd struct {
	url     string
	sockets []*websocket.Conn
	readers sync.WaitGroup
	ended   atomic.Int64 // clients whose socket ended
}

// gather returns when the replica has stored the demand of n new clients.
func (c *socketCrowd) gather(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c.sockets = make([]*websocket.Conn, n)
	err := bench.Concurrently(ctx, n, 64, func(ctx context.Context, i int) (err error) {
		c.sockets[i], err = askForServer(ctx, c.url)
		return err
	})
	if err != nil {
		return err
	}
	// without a limit: a replica accepts those who wait when it next writes their demand
	err = bench.Concurrently(ctx, n, 0, func(ctx context.Context, i int) error { return awaitAccepted(ctx, c.sockets[i]) })
	if err != nil {
		return err
	}
	for _, ws := range c.sockets {
		c.readers.Go(func() { c.readAll(ws) })
	}
	return nil
}

// leave closes all sockets.
func (c *socketCrowd) leave() {
	for _, ws := range c.sockets {
		if ws != nil {
			_ = ws.CloseNow() // without a handshake, which each of thousands would wait for
		}
	}
	c.readers.Wait()
}

// askForServer connects and sends what bevygap's client sends.
func askForServer(ctx context.Context, url string) (*websocket.Conn, error) {
	ws, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // Dial closes it
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

// readAll reads reports until the socket ends.
func (c *socketCrowd) readAll(ws *websocket.Conn) {
	for {
		if _, _, err := ws.Read(context.Background()); err != nil {
			c.ended.Add(1)
			return
		}
	}
}
