package proof

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

// The tests of this file pin findings that compare with a wrong arm, report a target as missed that is met or as met
// that is missed, or mistake one unit for another.

func TestReachFindings(t *testing.T) {
	t.Parallel()
	r := round{
		noOp: result(30_000, 40, 1), matchmake: result(12_000, 95, 1), naiveMatchmake: result(3_000, 390, 1),
		resolve: result(8_000, 130, 1), fleetNoOp: result(40_000, 30, 1), heartbeat: result(25_000, 45, 1),
		commit: result(9_000, 0, 1), loneMatchmake: result(900, 300, 1.2), naiveLoneMatchmake: result(1000, 300, 1),
	}
	claims := reachClaims(Options{})
	got, missed, _ := judge(claims, r)
	require.Equal(t, []string{"55.0 µs", "90.0 µs", "15.0 µs", "4.00 ×", "0.24 ×", "1.20 ×", "0"}, got)
	require.Equal(t, []int{1}, missed)

	// When half of the calls fail, each successful one costs twice as much.
	naive := r[naiveMatchmake]
	naive.Failed = 50
	r[naiveMatchmake] = naive
	got, _, _ = judge(claims, r)
	require.Equal(t, "0.12 ×", got[4])

	// Where CPU cannot be measured, no finding about it is met.
	for name, run := range r {
		run.Costs = nil
		r[name] = run
	}
	got, missed, _ = judge(claims, r)
	require.Equal(t, []int{0, 1, 2, 4}, missed)
	require.Equal(t, "not measured", got[4])
}

// Pins a single refusal, which a median would hide.
func TestCapacityFindings(t *testing.T) {
	t.Parallel()
	good, bad := bench.Result{Figures: bench.Figures{Calls: 1000}}, bench.Result{Figures: bench.Figures{
		Calls: 1000, Failed: 3, Errors: map[string]int64{"409 no_capacity": 2, "503 unavailable": 1},
	}}
	claims := capacityClaims(Options{})
	got, missed, notes := judge(claims, round{matchmake: good, naiveMatchmake: bad},
		round{matchmake: good, naiveMatchmake: bad})
	require.Equal(t, []string{"0.0 %", "0"}, got)
	require.Empty(t, missed)
	require.Contains(t, notes[0], "0.2 %")
	got, missed, _ = judge(claims, round{matchmake: good, naiveMatchmake: bad},
		round{matchmake: bad, naiveMatchmake: bad})
	require.Equal(t, []string{"0.1 %", "1"}, got)
	require.Equal(t, []int{0, 1}, missed)
}

func TestCallersFindings(t *testing.T) {
	t.Parallel()
	grouped := func(mean float64) bench.Result {
		return bench.Result{Costs: &bench.Costs{Groups: map[string]bench.Group{"placement": {MeanCalls: mean}}}}
	}
	got, missed, _ := judge(callersClaims(Options{}), round{
		armBy(matchmake, 1): grouped(1), armBy(naiveMatchmake, 1): grouped(7), armBy(matchmake, 64): grouped(7),
		armBy(matchmake, 1024): grouped(30),
	})
	require.Equal(t, []string{"30.00 ×"}, got)
	require.Empty(t, missed)
}

// Pins transactions that are compared the wrong way round, and the wait of the hot mode counted as that of the others.
func TestRegionsFindings(t *testing.T) {
	t.Parallel()
	took := func(transactions, p99 float64) bench.Result {
		r := result(1000, 10, p99)
		r.Costs.Transactions = transactions
		return r
	}
	got, missed, _ := judge(regionsClaims(Options{}), round{
		armOf(1, 1): took(0.02, 5), armOf(1, 16): took(0.022, 10), armOf(16, 1): took(0.2, 5),
		armOf(16, 16): took(0.4, 5),
		hotMode:       withStep(withStep(took(0.02, 30), "matchmake, hot mode", 40), "matchmake, others", 12),
	})
	require.Equal(t, []string{"1.10 ×", "2.00 ×", "20.00 ×", "1.20 ×"}, got)
	require.Equal(t, []int{1, 2}, missed)
}

func TestOpenMatchFindings(t *testing.T) {
	t.Parallel()
	got, missed, notes := judge(openMatchClaims(Options{}), round{
		echoCreate: result(20_000, 60, 2), createAlone: result(11_000, 100, 10), createWatch: result(9_000, 100, 17),
		commit: result(5_000, 0, 6), fetchAll: withStep(result(1, 100, 700), "matched", 600),
		queryAll: result(30, 30_000, 45), echoQuery: result(200, 2_000, 5),
		lifeWindow: result(100, 1_000, 390), lifeNow: result(100, 1_000, 20),
	})
	require.Equal(t, []string{"11,000/s", "10.00 ms", "700.00 ms", "45.00 ms", "390.00 ms", "20.00 ms", "1.70 ×", "0"},
		got)
	require.Equal(t, []int{3, 6}, missed)
	require.Equal(t, "with a window of 250 ms; matched 600.00 ms; 10,000 single-row commits take 2000.00 ms", notes[2])
}

// Pins the CPU of a call that is taken for that of a second, and the first match of a takeover taken for the last.
func TestMatchFindings(t *testing.T) {
	t.Parallel()
	steady, takeover := result(1_900, 450, 30), result(1000, 0, 1_900)
	steady.Open, steady.Tickets = &bench.Open{Rate: 2000}, 20_000
	takeover.Calls, takeover.Tickets, takeover.Latency.Max = 1000, 200_000, 5_100
	life := withStep(result(200, 300, 70), "create", 4)
	life.Latency.P50 = 9
	r := round{
		queueAll: result(1, 0, 1_050), seatAll: result(1, 0, 1_900), fetchAll: result(1, 0, 700), duelLife: life,
		pacedNoOp: result(200, 100, 1), notices: result(200, 0, 0.4), commit: result(5_000, 0, 6), steadyLoad: steady,
		idleQueue: result(1, 30_000, 1000), takeoverSpread: takeover, takeoverInOne: takeover,
	}
	for d, micros := range map[decision]float64{duels: 4, teams: 6, fewTeams: 3, manyTeams: 6} {
		r[d.name()] = bench.Result{Values: map[string]float64{"cpu": micros}}
	}
	got, missed, notes := judge(directorLoop.claims(Options{}), r)
	require.Equal(t, []string{
		"1.50 ×", "1900.00 ms", "9.00 ms", "70.00 ms", "450.0 µs", "1.5 %", "200.00 ms", "300.00 ms", "2.00 ×",
		"1900.00 ms", "5100.00 ms", "1900.00 ms", "5100.00 ms", "0",
	}, got)
	require.Equal(t, []int{0, 3, 7, 8, 10, 12}, missed)
	require.Equal(t, "1050.00 ms; an Open Match director takes 700.00 ms to fetch and assign as many in pairs, without seats; as many single-row commits take 2000.00 ms", notes[0])
	require.Contains(t, notes[2], "creating 4.00 ms, of a no-op 1.00 ms, a notification 0.40 ms")
	require.Contains(t, notes[4], "1,900/s of the 2,000/s requested, beside 20,000 that wait")
	require.Contains(t, notes[9], "1,000 profiles and 200,000 tickets")
}

// Pins goodput that counts answers after their callers' timeouts, refusals without Retry-After, and calls that all failed
// and look fast.
func TestOverloadFindings(t *testing.T) {
	t.Parallel()
	r := bench.Result{Figures: bench.Figures{PerSecond: 1600, Calls: 1000, Failed: 15, Errors: map[string]int64{
		"503 unavailable": 5, "503 unavailable without Retry-After": 2, "429 rate_limited": 1, "timeout": 3,
		"409 no_capacity": 4,
	}}, Seconds: 1, Open: &bench.Open{Rate: 2000}}
	r.Latency = bench.Latency{P50: 900, P99: 1500,
		Curve: []bench.Point{{Percentile: 25, MS: 300}, {Percentile: 50, MS: 900}, {Percentile: 75, MS: 901},
			{Percentile: 100, MS: 1600}}}
	r.Costs = &bench.Costs{GeneratorMicros: 500, ServerRSS: 300 << 20}
	r.Values = map[string]float64{"at rest": 50 << 20, "/healthz p99": 251, "/.well-known/jwks.json p99": 250,
		"unanswered": 1}
	got, missed, notes := judge(overloadClaims(Options{}),
		round{atCapacity: bench.Result{Figures: bench.Figures{PerSecond: 1000}, Costs: &bench.Costs{}}, overloaded: r})
	require.Equal(t, []string{"80.0 %", "9", "1500.00 ms", "250 MiB", "251.00 ms", "250.00 ms", "1"}, got)
	require.Equal(t, []int{1, 2, 4, 6}, missed)
	require.Contains(t, notes[0], "800/s of 1,000/s, at an offered load of 2,000/s. The load took 0.50 cores")
	require.Contains(t, notes[1], "2 × 503 unavailable without Retry-After, 3 × timeout")
	require.Contains(t, notes[3], "50 MiB at rest")

	dead := bench.Result{Figures: bench.Figures{Calls: 10, Failed: 10}}
	got, _, _ = judge(overloadClaims(Options{}), round{atCapacity: r, overloaded: dead})
	require.Equal(t, "not measured", got[2])
	require.Zero(t, goodputOf(dead))
}

// Pins memory that is not divided by the sessions of one replica, frames that count as linear although they grow with
// the square of the clients, and a storm that is judged without its first connections.
func TestRoomsFindings(t *testing.T) {
	t.Parallel()
	run := func(perSecond, p50, p99 float64, rss int64) bench.Result {
		r := result(perSecond, 1000, p50)
		r.Latency.P99, r.Costs.ServerRSS = p99, rss
		return r
	}
	joined := func(clients int, frames, took float64) bench.Result {
		r := run(1, took, took, 0)
		r.Sessions, r.Values = clients, map[string]float64{"frames": frames}
		return r
	}
	good := round{
		lobbyQuiet: run(10, 1, 1, 50<<20), lobbyFull: run(10, 1, 1, 50<<20+5000*40<<10), echoQuiet: run(10, 1, 1, 1),
		echoFull:     run(10, 1, 1, 1),
		lobbyPatches: run(500, 15, 60, 0), lobbyMatches: run(50, 30, 90, 0), lobbyOneRoom: run(2000, 1, 1, 0),
		oneRow:       run(2000, 1, 1, 0),
		lobbyFewJoin: joined(250, 62_500, 40), lobbyJoin: joined(1000, 1.1*1e6, 1.25*1.1*640),
		notices: run(200, 1, 1, 0), commit: run(9000, 1, 1, 0),
	}
	got, missed, _ := judge(roomsClaims(Options{}), good)
	require.Equal(t, []string{"40 KiB", "15.00 ms", "60.00 ms", "30.00 ms", "2,000/s", "1.00 ×", "1.10 ×", "1.25 ×",
		"0"}, got)
	require.Empty(t, missed)
	bad := round{
		lobbyQuiet: good[lobbyQuiet], lobbyFull: run(10, 1, 1, 50<<20+5000*41<<10), echoQuiet: good[echoQuiet],
		echoFull:     good[echoFull],
		lobbyPatches: run(500, 15.1, 60.1, 0), lobbyMatches: run(50, 30.1, 1, 0), lobbyOneRoom: run(1999, 1, 1, 0),
		oneRow:       good[oneRow],
		lobbyFewJoin: joined(250, 62_500, 1), lobbyJoin: joined(1000, 4*1e6, 100), notices: good[notices],
		commit: good[commit],
	}
	_, missed, _ = judge(roomsClaims(Options{}), bad)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, missed)

	storm := bench.Result{Seconds: 10, Values: map[string]float64{"joined": 10}}
	_, missed, _ = judge(stormClaims(Options{}), round{lobbyStorm: storm})
	require.Empty(t, missed)
	storm.Seconds = 10.1
	_, missed, _ = judge(stormClaims(Options{}), round{lobbyStorm: storm})
	require.Equal(t, []int{0, 1}, missed)
}

// Pins memory that is not divided by the sockets.
func TestWaitingFindings(t *testing.T) {
	t.Parallel()
	run := func(p99, cpu float64, rss int64, ended float64) bench.Result {
		r := result(300, 2*cpu, p99)
		r.Calls, r.Costs.ServerRSS, r.Values = 3000, rss, map[string]float64{"ended": ended}
		return r
	}
	claims := waitingClaims(Options{})
	got, missed, notes := judge(claims, round{placedAlone: run(5, 1000, 50<<20, 0),
		placedBeside: run(6, 2000, 50<<20+5000*64<<10, 0)})
	require.Equal(t, []string{"1.20 ×", "64 KiB", "0", "0", "0"}, got)
	require.Empty(t, missed)
	require.Contains(t, notes[0], "CPU of the replica 0.60 cores, without them 0.30 cores")
	_, missed, _ = judge(claims, round{placedAlone: run(5, 1, 0, 0), placedBeside: run(6.1, 1, 5001<<16, 1)})
	require.Equal(t, []int{0, 1, 2}, missed)
}

func TestProvisionFindings(t *testing.T) {
	t.Parallel()
	rush := bench.Result{Values: map[string]float64{"players": 199, "servers": 28, "wait p99": 501,
		"most status calls": 21}}
	quiet := bench.Result{Values: map[string]float64{"director": 0.1, "postgres": 0.11, "violations": 1}}
	quiet.Latency.P50 = 2001
	claims := provisionClaims(Options{})
	_, missed, _ := judge(claims, round{emptyPool: rush, quietPool: quiet})
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, missed)
	rush.Values = map[string]float64{"players": 200, "servers": 27, "wait p99": 500, "most status calls": 20}
	quiet.Values, quiet.Latency.P50 = map[string]float64{"director": 0.1, "postgres": 0.1}, 2000
	quiet.Values["violations"] = 0
	_, missed, _ = judge(claims, round{emptyPool: rush, quietPool: quiet})
	require.Empty(t, missed)
}

// Pins updates that are not HOT, growth, or unanswered heartbeats that no finding reports.
func TestFleetFindings(t *testing.T) {
	t.Parallel()
	samples := tableSamples{
		{{leases, 100, 100, 10 << 20}, {modes, 100, 100, 10 << 20}},
		{{leases, 1000, 900, 20 << 20}, {modes, 1000, 900, 20 << 20}},
		{{leases, 2100, 2080, 30 << 20}, {modes, 2100, 2080, 30 << 20}},
	}
	r := result(19_900, 0, 1)
	r.Calls, r.Costs.PostgresMicros = 1_000_000, 15
	r.Values = map[string]float64{"answered": 0.995}
	samples.addValues(r.Values)
	got, missed, notes := judge(fleetClaims(Options{}), round{onStore: r, overHTTP: result(1, 1, 1)})
	require.Equal(t, []string{"99.5 %", "1.50 cores", "99.0 %", "1.50 ×", "1.50 ×"}, got)
	require.Equal(t, []int{0, 1, 3, 4}, missed)
	require.Contains(t, notes[3], "10 MiB at the begin, 20 MiB after 30s, 30 MiB at the end")
}

// Pins a slow-down by a snapshot that is measured by its mean, and a recovery that is measured too early. A slow period
// is not hidden by fast ones before and after it, or found where there is none.
func TestForgottenFindings(t *testing.T) {
	t.Parallel()
	const second, slot = 1e9, bench.TimelineSlot
	steady := make([]int64, 475) // 100 calls a second, except for 40 in the ten seconds from the 20th on
	for i := range steady {
		if steady[i] = 20; i >= 100 && i < 150 {
			steady[i] = 8
		}
	}
	require.InDelta(t, 70, rateBetween(steady, 15*second, 25*second), 1e-6)
	require.InDelta(t, 40, lowestRate(steady, 10*second, 40*second, 5*second), 1e-6)
	require.InDelta(t, 100, lowestRate(steady, 30*second, 60*second, 10*second), 1e-6)
	require.True(t, math.IsNaN(rateBetween(steady, 90*second, 96*second)), "nobody knows")
	require.True(t, math.IsNaN(lowestRate(steady, 0, slot, 2*slot)))
	claims := snapshot.claims(Options{})
	got, missed, notes := judge(claims, round{sessionLife: {Timeline: steady}})
	require.Equal(t, []string{"40.0 %", "100.0 %", "0"}, got)
	require.Equal(t, []int{0}, missed)
	require.Contains(t, notes[0], "100/s before, 40/s at the lowest, 90/s in the mean")
}
