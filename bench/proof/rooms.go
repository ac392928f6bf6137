package proof

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/realtime"
)

// Two replicas serve clients of the realtime lobby, and a worker matches them. The clients run in the process of the
// load, on the same machine. A change is answered when it is durable. Where a rate is requested, latency counts from
// when a change or a pair was due.
//
// An echo answers handshakes and calls with the same WebSocket library, without a database, sessions or pings. A commit
// is an update of one row; a notification goes from one connection of Postgres to another. The memory of a session is
// that of the first round, in which a process has none left of an earlier one; it includes garbage that is not
// collected yet.
//
// The forgotten snapshot and the killed replica are measured once. All clients of the killed replica resume their
// sessions at the other one at once.
var rooms = Experiment{
	Name: "rooms", Title: "The realtime lobby", Takes: "9 min", Run: runRooms,
	About: "How fast members of rooms see changes and matches, what idle sessions hold, and how soon clients of a killed replica are back",
}

// The trials of a round, by their names in the report.
const (
	lobbyQuiet   = "no idle sessions"
	lobbyFull    = "idle sessions"
	echoQuiet    = "echo, no idle connections"
	echoFull     = "echo, idle connections"
	lobbyPatches = "changes seen on the other replica"
	lobbyMatches = "matches of two"
	lobbyOneRoom = "changes of one room"
	oneRow       = "commits of one row"
	lobbyJoin    = "clients join one room"
	lobbyFewJoin = "a quarter of the clients join one room"
)

// lobbySizes are the numbers of clients.
type lobbySizes struct{ idle, join, storm int }

func runRooms(ctx context.Context, o Options) (Section, error) {
	var all rounds
	var held heldLobby
	var dead storm
	sizes := of(o, lobbySizes{idle: 10_000, join: 1000, storm: 5000}, lobbySizes{idle: 8, join: 8, storm: 8})
	err := o.in(ctx, lab.Options{Replicas: 2, Worker: true, Realtime: true, Env: lab.OpenLobby()},
		func(ctx context.Context, b *testbed) error {
			trials, err := b.lobbyTrials(ctx, sizes)
			if err != nil {
				return err
			}
			if all, err = o.measure(ctx, b.settled(b.withoutSessions(trials...)...)...); err != nil {
				return err
			}
			if held, err = b.besideSnapshot(ctx); err != nil {
				return err
			}
			dead, err = b.killUnderClients(ctx, sizes.storm)
			return err
		})
	if err != nil {
		return Section{}, err
	}
	runs := append(all.typical(lobbyPatches, lobbyMatches, notices, echoQuiet, commit, lobbyOneRoom, oneRow, lobbyJoin),
		Run{Name: lobbyHeld, Result: held.result})
	return Section{
		Findings: append(append(all.inLobby(sizes), held.findings()...), dead.findings()...),
		Runs:     runs,
	}, nil
}

func (b *testbed) lobbyTrials(ctx context.Context, sizes lobbySizes) ([]trial, error) {
	baselines, err := b.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	o, director := b.options, side{lab.RealtimeURLs(b.Replicas()), b.Lab}
	replicas, echoes := side{director.urls, b.Meter(b.Replicas()...)}, side{lab.RealtimeURLs(baselines),
		b.Meter(baselines...)}
	few := of(o, sizes.join/4, sizes.join/2)
	return []trial{
		lobbyTrial(lobbyQuiet, replicas, o.inLobby("rooms-idle", 0)),
		lobbyTrial(lobbyFull, replicas, o.inLobby("rooms-idle", sizes.idle)),
		lobbyTrial(echoQuiet, echoes, o.inLobby("rooms-idle", 0)),
		lobbyTrial(echoFull, echoes, o.inLobby("rooms-idle", sizes.idle)),
		lobbyTrial(lobbyPatches, director, o.inLobby("rooms-patch", 0)),
		lobbyTrial(lobbyMatches, director, o.inLobby("rooms-match", 0)),
		{notices, func(ctx context.Context) (bench.Result, error) {
			return baseline.Notices(ctx, b.URL(), 0, of(o, 5*time.Second, 100*time.Millisecond))
		}},
		b.commits(o.inLobby("rooms-hot", 0)),
		lobbyTrial(lobbyOneRoom, director, o.inLobby("rooms-hot", 0)),
		{oneRow, func(ctx context.Context) (bench.Result, error) {
			load := o.inLobby("rooms-hot", 0)
			return baseline.CommitsOfOneRow(ctx, b.URL(), load.Callers, load.WarmUp, load.Duration)
		}},
		lobbyTrial(lobbyFewJoin, director, o.inLobby("rooms-join", few)),
		lobbyTrial(lobbyJoin, director, o.inLobby("rooms-join", sizes.join)),
	}, nil
}

// inLobby is the usual load of a scenario, with sessions beside those of callers.
func (o Options) inLobby(scenario string, sessions int) bench.Options {
	load, usual := o.load(scenario), realtime.Protocol.Usual(scenario)
	load.Protocol, load.Sessions, load.Callers, load.Rate = realtime.Protocol, sessions, usual.Callers, usual.Rate
	if o.Quick {
		load.Callers, load.Rate, load.WarmUp = min(load.Callers, 2), min(load.Rate, 20), 0
	}
	return load
}

func lobbyTrial(name string, on side, load bench.Options) trial {
	return trial{name, func(ctx context.Context) (bench.Result, error) {
		load.URLs, load.Meter = on.urls, on.meter
		return bench.Run(ctx, load)
	}}
}

const (
	fewSessions  = 500         // of callers of an earlier trial; a worker ends as many in a moment
	sessionsLeft = time.Minute // at most, until a worker has ended the others
)

var errSessionsStay = errors.New("sessions of an earlier trial stay")

// withoutSessions waits before each trial until a worker has ended the sessions of an earlier one.
func (b *testbed) withoutSessions(trials ...trial) (after []trial) {
	for _, t := range trials {
		after = append(after, trial{t.name, func(ctx context.Context) (bench.Result, error) {
			if err := b.noSessions(ctx); err != nil {
				return bench.Result{}, err
			}
			return t.run(ctx)
		}})
	}
	return after
}

func (b *testbed) noSessions(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, sessionsLeft, errSessionsStay)
	defer cancel()
	for {
		rows, err := rowsOf[struct{ Sessions int }](ctx, b.pool, "rooms_sessions.sql")
		if err != nil {
			return err
		}
		if rows[0].Sessions <= fewSessions {
			return nil
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
