package proof

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/bench"
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
	Name: "rooms", Title: "The realtime lobby", Takes: "9 min",
	About: "How fast members of rooms see changes and matches, what idle sessions hold, and how soon clients of a killed replica are back",
	lab:   lab.Options{Replicas: 2, Worker: true, Faces: []lab.Face{lab.Realtime}, Env: lab.OpenLobby()},
	arms:  roomsArms,
	claims: slices.Concat([]claim{
		{"memory of a replica for an idle session", reduceRounds(first, kibibytes, func(r round) float64 {
			// Each of two processes has half of the sessions.
			return (memory.read(r[lobbyFull]) - memory.read(r[lobbyQuiet])) / (idleClients / 2)
		}, lobbyFull, lobbyQuiet), atMost(40 << 10)},
		{"a change seen by a member on the other replica, p50", median(lobbyPatches, p50), atMost(15)},
		{"a change seen by a member on the other replica, p99", median(lobbyPatches, p99), atMost(60)},
		{"enqueued until both players know their match, p50", median(lobbyMatches, p50), atMost(30)},
		{"changes of one room from both replicas, each durable when answered", median(lobbyOneRoom, throughput),
			atLeast(2000)},
		{"changes of one room, compared with a commit of one row for each", ratio(lobbyOneRoom, oneRow, throughput),
			atLeast(1)},
		// The frames grow with the clients that join, and not with their square.
		{"1,000 clients join one room: frames of a client for each of them, compared with a quarter of the clients",
			ratio(lobbyJoin, lobbyFewJoin, frames), atMost(1.1)},
		{"time for each of these frames, until each client knows all others, compared with a quarter of the clients",
			ratio(lobbyJoin, lobbyFewJoin, perFrame), atMost(1.25)},
		noFailures(lobbyQuiet, lobbyFull, lobbyPatches, lobbyMatches, lobbyOneRoom, lobbyFewJoin, lobbyJoin),
	}, forgottenClaims("changes of rooms", lobbyHeld), []claim{
		{"5,000 clients of a killed replica resume: until the last has the state of its room again",
			median(lobbyStorm, duration), atMost(10)},
		{"the same, compared with connecting and joining for the first time",
			reduceRounds(middle, times, func(r round) float64 {
				return r[lobbyStorm].Seconds / r[lobbyStorm].Values["joined"]
			}, lobbyStorm), atMost(1)},
		noFailures(lobbyHeld),
	}),
}

// The arms, by their names in the report.
const (
	lobbyQuiet   = "no idle sessions"
	lobbyFull    = "idle sessions"
	echoQuiet    = "echo"
	lobbyPatches = "changes seen on the other replica"
	lobbyMatches = "matches of two"
	lobbyOneRoom = "changes of one room"
	lobbyJoin    = "clients join one room"
	lobbyFewJoin = "a quarter of the clients join one room"
	lobbyHeld    = "changes beside a forgotten snapshot"
	lobbyStorm   = "clients of a killed replica resume"
)

// The numbers of clients.
const (
	idleClients    = 10_000
	joiningClients = 1000
	stormClients   = 5000
)

// loadLobby is the usual load of a scenario, with idle sessions in addition to the callers'.
func (o Options) loadLobby(scenario string, sessions int) bench.Options {
	run := o.loadUsual(scenario, 5*time.Second)
	run.Load.Sessions = sessions
	return run
}

// roomsArms end with those of the last round: one fills the database, the other has one replica left.
func roomsArms(ctx context.Context, b *testbed) ([]arm, error) {
	echoes, err := b.baselines(ctx, lab.Realtime)
	if err != nil {
		return nil, err
	}
	o, director := b.options, b.director(lab.Realtime)
	replicas := side{b, director.urls, b.lab.Meter(b.lab.Replicas...)}
	arms := []arm{
		replicas.arm(lobbyQuiet, o.loadLobby("rooms-idle", 0)),
		replicas.arm(lobbyFull, o.loadLobby("rooms-idle", idleClients)),
		echoes.arm(echoQuiet, o.loadLobby("rooms-idle", 0)),
		director.arm(lobbyPatches, o.loadLobby("rooms-patch", 0)),
		director.arm(lobbyMatches, o.loadLobby("rooms-match", 0)),
		b.inPostgres(notices, "notice", b.options.load("notice", 1)),
		b.inPostgres(commit, "commit", o.loadLobby("rooms-hot", 0)),
		director.arm(lobbyOneRoom, o.loadLobby("rooms-hot", 0)),
		b.inPostgres(oneRow, "commit-one-row", o.loadLobby("rooms-hot", 0)),
		director.arm(lobbyFewJoin, o.loadLobby("rooms-join", joiningClients/4)),
		director.arm(lobbyJoin, o.loadLobby("rooms-join", joiningClients)),
	}
	return append(prepareEach(arms, b.await(time.Minute, "rooms_sessions.sql")),
		director.besideSnapshot(lobbyHeld, o.loadLobby("rooms-patch", 0)),
		arm{name: lobbyStorm, on: director, isLast: true, run: b.killUnderClients}), nil
}

// killUnderClients lets clients join rooms at the first replica, kills it, and lets all of them resume at the second
// one at once. The latency is until all have the state of their room again; the value "joined" is the time in which all
// connected and joined for the first time.
func (b *testbed) killUnderClients(ctx context.Context) (bench.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	clients, urls := choose(b.options, stormClients, 8), b.director(lab.Realtime).urls
	crowd := realtime.NewCrowd("", clients)
	defer crowd.Cut()
	start := time.Now()
	// All clients are at the replica that is killed: the other one has nothing to do before.
	if err := crowd.Join(ctx, urls[:1]); err != nil {
		return bench.Result{}, err
	}
	joined := time.Since(start)
	b.options.say("a replica with %d clients is killed", clients)
	b.lab.Replicas[0].Handle.Kill()
	took, err := crowd.Resume(ctx, urls[1])
	r := bench.ResultOf("rooms-storm", clients, took)
	r.Values = map[string]float64{"joined": joined.Seconds()}
	return r, err
}

var (
	// frames are those that a client receives while n of them join a room, divided by n.
	frames = figure{func(r bench.Result) float64 {
		n := float64(r.Sessions)
		return r.Values["frames"] / n / n
	}, twoDigits}
	perFrame = figure{func(r bench.Result) float64 { return r.Latency.P50 / r.Values["frames"] }, millis}
)
