package proof

import (
	"context"
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
	parts: inOneLab(lab.Options{Replicas: 2, Worker: true, Realtime: true, Env: lab.OpenLobby()}, roomsArms),
	claims: func(o Options) []claim {
		claims := append(roomsClaims(o), forgottenClaims("changes of rooms", lobbyHeld, o.forgottenTimes())...)
		return append(claims, append(stormClaims(o), noFailures(lobbyHeld))...)
	},
}

// The arms, by their names in the report.
const (
	lobbyQuiet   = "no idle sessions"
	lobbyFull    = "idle sessions"
	echoQuiet    = "echo, no idle connections"
	echoFull     = "echo, idle connections"
	lobbyPatches = "changes seen on the other replica"
	lobbyMatches = "matches of two"
	lobbyOneRoom = "changes of one room"
	lobbyJoin    = "clients join one room"
	lobbyFewJoin = "a quarter of the clients join one room"
	lobbyHeld    = "changes beside a forgotten snapshot"
	lobbyStorm   = "clients of a killed replica resume"
)

// lobbySizes are the numbers of clients.
type lobbySizes struct{ idle, join, fewJoin, storm int }

func (o Options) lobbySizes() lobbySizes {
	return choose(o, lobbySizes{idle: 10_000, join: 1000, fewJoin: 250, storm: 5000}, lobbySizes{8, 8, 4, 8})
}

// loadLobby is the usual load of a scenario, with sessions beside those of callers.
func (o Options) loadLobby(scenario string, sessions int) bench.Options {
	load := o.loadUsual(scenario, 5*time.Second)
	load.Sessions = sessions
	return load
}

func roomsArms(ctx context.Context, b *testbed) ([]arm, error) {
	echoes, err := b.baselines(ctx, lab.Realtime)
	if err != nil {
		return nil, err
	}
	o, sizes, director := b.options, b.options.lobbySizes(), b.director(lab.Realtime)
	replicas := side{director.urls, b.lab.Meter(b.lab.Replicas...)}
	arms := []arm{
		b.arm(lobbyQuiet, replicas, o.loadLobby("rooms-idle", 0)),
		b.arm(lobbyFull, replicas, o.loadLobby("rooms-idle", sizes.idle)),
		b.arm(echoQuiet, echoes, o.loadLobby("rooms-idle", 0)),
		b.arm(echoFull, echoes, o.loadLobby("rooms-idle", sizes.idle)),
		b.arm(lobbyPatches, director, o.loadLobby("rooms-patch", 0)),
		b.arm(lobbyMatches, director, o.loadLobby("rooms-match", 0)),
		b.notifications(),
		b.commits(o.loadLobby("rooms-hot", 0)),
		b.arm(lobbyOneRoom, director, o.loadLobby("rooms-hot", 0)),
		b.inPostgres(oneRow, "commit-one-row", o.loadLobby("rooms-hot", 0)),
		b.arm(lobbyFewJoin, director, o.loadLobby("rooms-join", sizes.fewJoin)),
		b.arm(lobbyJoin, director, o.loadLobby("rooms-join", sizes.join)),
	}
	return append(prepareEach(arms, b.settle, b.awaitFewSessions),
		b.besideSnapshot(lobbyHeld, director, o.loadLobby("rooms-patch", 0)),
		arm{name: lobbyStorm, isLast: true, run: b.killUnderClients}), nil
}

// awaitFewSessions waits until a worker has ended the sessions of an earlier arm, except for those that it ends in a
// moment.
func (b *testbed) awaitFewSessions(ctx context.Context) error {
	type lobby struct{ Sessions int }
	_, err := awaitRow(ctx, b.pool, time.Minute, func(l lobby) bool { return l.Sessions <= 500 }, "rooms_sessions.sql")
	return err
}

// killUnderClients lets clients join rooms at the first replica, kills it, and lets all of them resume at the second
// one at once. The latency is until all have the state of their room again; the value "joined" is the time in which all
// connected and joined for the first time.
func (b *testbed) killUnderClients(ctx context.Context) (bench.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	clients, urls := b.options.lobbySizes().storm, b.director(lab.Realtime).urls
	crowd := realtime.NewCrowd("", clients)
	defer crowd.Cut()
	start := time.Now()
	if err := crowd.Join(ctx, urls[:1]); err != nil {
		return bench.Result{}, err
	}
	joined := time.Since(start)
	b.options.say("a replica with %d clients is killed", clients)
	b.lab.Replicas[0].Kill()
	took, err := crowd.Resume(ctx, urls[1])
	r := bench.ResultOf("rooms-storm", clients, took)
	r.Values = map[string]float64{"joined": joined.Seconds()}
	return r, err
}

func roomsClaims(o Options) []claim {
	sizes, idleCPU := o.lobbySizes(), coresOf(serverCPU)
	patches, oneRoom := lobbyPatches, lobbyOneRoom
	perSession := func(full, quiet string) measure { // each of two processes has half of the sessions
		return inFirstRound(kibibytes, func(r round) float64 {
			return (memory.read(r[full]) - memory.read(r[quiet])) / (float64(sizes.idle) / 2)
		})
	}
	// the frames that a client receives while n of them join a room, divided by n
	frames := figure{func(r bench.Result) float64 {
		n := float64(r.Sessions)
		return r.Values["frames"] / n / n
	}, twoDigits}
	perFrame := figure{func(r bench.Result) float64 { return r.Latency.P50 / r.Values["frames"] }, millis}
	return []claim{
		{"memory of a replica for an idle session", perSession(lobbyFull, lobbyQuiet), atMost(40 << 10),
			"%s sessions on two replicas; a connection of an echo %s. CPU of both replicas %s, without sessions %s",
			args{whole(sizes.idle), perSession(echoFull, echoQuiet), median(lobbyFull, idleCPU),
				median(lobbyQuiet, idleCPU)}},
		{"a change seen by a member on the other replica, p50", median(patches, p50), atMost(15),
			"%s of the %s requested; an echo %s, a notification %s, a single-row commit under load %s; a change costs %s of CPU, of which Postgres %s",
			args{median(patches, throughput), median(patches, requested), median(echoQuiet, p50), median(notices, p50),
				median(commit, p50), median(patches, cpu), median(patches, postgresCPU)}},
		{"a change seen by a member on the other replica, p99", median(patches, p99), atMost(60),
			"a notification %s, a single-row commit under load %s", args{median(notices, p99), median(commit, p99)}},
		{"enqueued until both players know their match, p50", median(lobbyMatches, p50), atMost(30),
			"p99 %s; a match costs %s of CPU, of which Postgres %s",
			args{median(lobbyMatches, p99), median(lobbyMatches, cpu), median(lobbyMatches, postgresCPU)}},
		{"changes of one room from both replicas, each durable when answered", median(oneRoom, throughput),
			atLeast(2000), "p50 %s, p99 %s; a change costs %s of CPU, of which Postgres %s",
			args{median(oneRoom, p50), median(oneRoom, p99), median(oneRoom, cpu), median(oneRoom, postgresCPU)}},
		{"changes of one room, compared with a commit of one row for each", ratio(oneRoom, oneRow, throughput),
			atLeast(1), "as many callers, each with a connection: %s", args{median(oneRow, throughput)}},
		// they grow with the clients that join, and not with their square
		{whole(sizes.join) + " clients join one room: frames of a client for each of them, compared with a quarter of the clients",
			ratio(lobbyJoin, lobbyFewJoin, frames), atMost(1.1), "%s frames", args{median(lobbyJoin, frames)}},
		{"time for each of these frames, compared with a quarter of the clients",
			ratio(lobbyJoin, lobbyFewJoin, perFrame),
			atMost(1.25), "until each client knows all others: p50 %s; a quarter of the clients %s",
			args{median(lobbyJoin, p50), median(lobbyFewJoin, p50)}},
		noFailures(lobbyQuiet, lobbyFull, echoFull, patches, lobbyMatches, oneRoom, lobbyFewJoin, lobbyJoin),
	}
}

func stormClaims(o Options) []claim {
	resumed := figure{func(r bench.Result) float64 { return r.Seconds }, inSeconds}
	joined := valueOf("joined", inSeconds)
	return []claim{
		{whole(o.lobbySizes().storm) + " clients of a killed replica resume: until the last has the state of its room again",
			median(lobbyStorm, resumed), atMost(10), "%d handshakes at a time; no session was lost",
			args{realtime.Dialers}},
		{"the same, compared with connecting and joining for the first time", medianOver(times, func(r round) float64 {
			return resumed.read(r[lobbyStorm]) / joined.read(r[lobbyStorm])
		}, lobbyStorm), atMost(1), "%s", args{median(lobbyStorm, joined)}},
	}
}
