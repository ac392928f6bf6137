package proof

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

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
	Name: "waiting", Title: "Sockets that wait", Takes: "3 min", Run: runWaiting,
	About: "Whether guests of bevygap who wait for a server slow down placement, and what a waiting socket holds",
}

// The trials of a round, by their names in the report.
const (
	placedAlone  = "matchmake, no sockets"
	placedBeside = "matchmake, beside waiting sockets"
)

const (
	socketMemory = 64 << 10         // most bytes of a replica for a waiting socket
	dialers      = 64               // handshakes at a time
	allWait      = time.Minute      // at most, until all wait
	noneWaits    = 30 * time.Second // at most, until no demand is left
)

// waitingSettings let all requests come from one address and wait for longer than a run.
var waitingSettings = []string{
	"DIRECTOR_BEVYGAP=guests", "DIRECTOR_BEVYGAP_WAIT=10m", "DIRECTOR_BEVYGAP_PER_ADDRESS=20000",
}

func runWaiting(ctx context.Context, o Options) (Section, error) {
	var all rounds
	var lost atomic.Int64
	sockets := of(o, 5000, 8)
	err := o.in(ctx, lab.Options{Worker: true, Env: waitingSettings},
		func(ctx context.Context, b *testbed) (err error) {
			if err := b.sql(ctx, "waiting_pool.sql", prefilledRegion); err != nil {
				return err
			}
			load := o.load(matchmake)
			load.Rate, load.Callers = 300, 256
			// four times the interval of reports
			load.WarmUp, load.Duration = of(o, 5*time.Second, 50*time.Millisecond), of(o, 20*time.Second,
				200*time.Millisecond)
			replica := side{lab.URLs(b.Replicas()), b.Meter(b.Replicas()...)}
			alone, beside := b.trial(placedAlone, replica, load), b.trial(placedBeside, replica, load)
			beside.run = b.besideWaiting(sockets, &lost, beside.run)
			all, err = o.measure(ctx, b.settled(b.cleaned(alone), b.cleaned(beside))...)
			return err
		})
	if err != nil {
		return Section{}, err
	}
	runs := all.typical(placedAlone, placedBeside)
	return Section{Findings: all.waiting(sockets, lost.Load()),
		Runs: runs}, nil
}

// besideWaiting wraps a run during which clients wait, and adds those whose wait ended before the run to lost.
func (b *testbed) besideWaiting(sockets int, lost *atomic.Int64,
	run func(context.Context) (bench.Result, error)) func(context.Context) (bench.Result, error) {
	return func(ctx context.Context) (result bench.Result, err error) {
		c := &crowd{url: "ws" + strings.TrimPrefix(b.Replicas()[0].URL, "http") + "/matchmaker/ws"}
		err = c.gather(ctx, sockets)
		if err == nil {
			b.options.say("%d sockets wait", sockets)
			result, err = run(ctx)
		}
		lost.Add(c.ended.Load())
		c.leave()
		return result, errors.Join(err, b.noDemand(ctx))
	}
}

//go:embed waiting_demand.sql
var demandText string

// noDemand waits until the replica has deleted the demand of the clients that left.
func (b *testbed) noDemand(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, noneWaits)
	defer cancel()
	for {
		var players int
		if err := b.pool.QueryRow(ctx, demandText).Scan(&players); err != nil || players == 0 {
			return err
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%d players that left still count as waiting: %w", players, err)
		}
	}
}

// waiting makes the findings of the rounds.
func (all rounds) waiting(sockets int, lost int64) []Finding {
	many := inFull(float64(sockets)) + " waiting sockets"
	grown := float64(all[0][placedBeside].Costs.ServerRSS-all[0][placedAlone].Costs.ServerRSS) / float64(sockets)
	return []Finding{
		noted(atMost("matchmake's p99 beside "+many+", compared with none",
			all.compared(placedBeside, placedAlone, p99), 1.2, times),
			"%s, without them %s; CPU of the replica %s, without them %s",
			all.show(placedBeside, p99, millis), all.show(placedAlone, p99, millis),
			inCores(all.of(placedBeside, cores(serverMicros))), inCores(all.of(placedAlone, cores(serverMicros)))),
		atMost("memory of the replica for a waiting socket", grown/1024, socketMemory/1024, kibibytes),
		atMost("sockets whose wait ended during a run", float64(lost), 0, inFull),
		noted(atMost("calls that failed beside them", float64(all.sum(failed, placedBeside)), 0, inFull), "%s",
			all.kinds(placedBeside)),
		noted(atMost("calls that failed without them", float64(all.sum(failed, placedAlone)), 0, inFull), "%s",
			all.kinds(placedAlone)),
	}
}

func kibibytes(v float64) string { return fmt.Sprintf("%.0f KiB", v) }

// crowd are clients of bevygap that wait.
type crowd struct {
	url     string
	sockets []*websocket.Conn
	readers errgroup.Group
	ended   atomic.Int64 // clients whose socket ended
}

// gather returns when the replica has stored the demand of n new clients.
func (c *crowd) gather(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, allWait)
	defer cancel()
	c.sockets = make([]*websocket.Conn, n)
	all, ctx := errgroup.WithContext(ctx)
	dialing := make(chan struct{}, dialers)
	for i := range c.sockets {
		all.Go(func() (err error) {
			dialing <- struct{}{}
			c.sockets[i], err = ask(ctx, c.url)
			<-dialing
			if err != nil {
				return err
			}
			return awaitAccepted(ctx, c.sockets[i])
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, ws := range c.sockets {
		c.readers.Go(func() error { c.read(ws); return nil })
	}
	return nil
}

// leave closes all sockets.
func (c *crowd) leave() {
	for _, ws := range c.sockets {
		if ws != nil {
			_ = ws.CloseNow()
		}
	}
	_ = c.readers.Wait()
}

// ask connects and sends what bevygap's client sends.
func ask(ctx context.Context, url string) (*websocket.Conn, error) {
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
		switch text := string(frame); {
		case strings.HasPrefix(text, `{"SessionRequestAccepted":`):
			return nil
		case strings.HasPrefix(text, `{"Error":`), strings.HasPrefix(text, `{"SessionReady":`):
			return fmt.Errorf("a client that should wait got %.100q", text)
		}
	}
}

// read reads reports until the socket ends.
func (c *crowd) read(ws *websocket.Conn) {
	for {
		if _, _, err := ws.Read(context.Background()); err != nil {
			c.ended.Add(1)
			return
		}
	}
}
