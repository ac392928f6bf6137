package proof

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

// Pins findings that compare with a wrong arm, mistake one unit for another, or count as met what was not measured.
func TestFindings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims   []claim
		arms     round
		measured []string
		missed   []int
	}{
		"reach": {reach.claims[:8], reachRound(),
			[]string{"55.0 µs", "90.0 µs", "15.0 µs", "4.00 ×", "0.24 ×", "1.20 ×", "30.00 ×", "0"}, []int{1}},
		"reach, where half of the naive calls fail, which makes each successful one twice as dear": {
			reach.claims[:8], reachRound().with(naiveMatchmake, func(r *bench.Result) { r.Failed = 50 }),
			[]string{"55.0 µs", "90.0 µs", "15.0 µs", "4.00 ×", "0.12 ×", "1.20 ×", "30.00 ×", "0"}, []int{1}},
		"reach, where CPU cannot be measured": {
			reach.claims[:8], reachRound().with(matchmake, func(r *bench.Result) { r.Costs = nil }),
			[]string{"not measured", "90.0 µs", "15.0 µs", "4.00 ×", "not measured", "1.20 ×", "30.00 ×", "0"}, []int{0, 1, 4}},
		"reach, of regions and modes": {reach.claims[8:], round{
			matchmake: writing(0.02, 5), manyModes: writing(0.022, 10), manyRegions: writing(0.2, 5),
			manyOfBoth: writing(0.4, 5),
			hotMode:    withStep(withStep(writing(0.02, 30), "matchmake, hot mode", 40), "matchmake, others", 12),
		}, []string{"1.10 ×", "2.00 ×", "20.00 ×", "1.20 ×"}, []int{1, 2}},
		"overload": {overload.claims, round{
			atCapacity: {Figures: bench.Figures{PerSecond: 1000}, Costs: &bench.Costs{}}, overloaded: overloadedRun(),
		}, []string{"80.0 %", "9", "1500.00 ms", "250 MiB", "251.00 ms", "250.00 ms", "1"}, []int{1, 2, 4, 6}},
		"overload, where all calls failed": {overload.claims[2:3], round{
			overloaded: {Figures: bench.Figures{Calls: 10, Failed: 10}},
		}, []string{"not measured"}, []int{0}},
		"rooms": {rooms.claims[:9], round{
			lobbyQuiet: holding(50 << 20), lobbyFull: holding(50<<20 + 5000*40<<10),
			lobbyPatches: result(500, 0, 15), lobbyMatches: result(50, 0, 31), lobbyOneRoom: result(2000, 0, 1),
			oneRow: result(2000, 0, 1), lobbyFewJoin: joined(250, 62_500, 40),
			lobbyJoin: joined(1000, 1.1*1e6, 1.25*1.1*640),
		}, []string{"40 KiB", "15.00 ms", "15.00 ms", "31.00 ms", "2,000/s", "1.00 ×", "1.10 ×", "1.25 ×", "0"}, []int{3}},
		"rooms, where frames grow with the square of the clients": {rooms.claims[6:8], round{
			lobbyFewJoin: joined(250, 62_500, 1), lobbyJoin: joined(1000, 4*1e6, 100),
		}, []string{"4.00 ×", "1.56 ×"}, []int{0, 1}},
		"waiting": {waiting.claims[1:3], round{
			placedAlone:  holding(50 << 20),
			placedBeside: withValues(holding(50<<20+5000*64<<10), map[string]float64{"ended": 1}),
		}, []string{"64 KiB", "1"}, []int{1}},
		"fleet": {fleet.claims, round{onStore: heartbeatsRun()},
			[]string{"99.5 %", "1.50 cores", "98.9 %", "1.05 ×", "1.50 ×"}, []int{0, 1, 2, 4}},
		"match": {directorLoop.claims, round{
			queueAll: result(1, 0, 1_050), seatAll: result(1, 0, 1_900), fetchAll: result(1, 0, 700),
			duelLife: result(200, 300, 9), steadyLoad: result(1_900, 450, 30), idleQueue: result(1, 30_000, 1000),
		}, []string{"1.50 ×", "1900.00 ms", "9.00 ms", "9.00 ms", "450.0 µs", "1.5 %", "0"}, []int{0}},
	} {
		measured, missed := judge(c.claims, c.arms)
		require.Equal(t, c.measured, measured, name)
		require.Equal(t, c.missed, missed, name)
	}
}

// judge returns what claims measure, and the indexes of the missed ones.
func judge(claims []claim, all ...round) (measured []string, missed []int) {
	for i, f := range rounds(all).judge(claims) {
		if measured = append(measured, f.Measured); !f.Met {
			missed = append(missed, i)
		}
	}
	return measured, missed
}

func (r round) with(arm string, change func(r *bench.Result)) round {
	result := r[arm]
	change(&result)
	r[arm] = result
	return r
}

func withValues(r bench.Result, values map[string]float64) bench.Result {
	r.Values = values
	return r
}

func reachRound() round {
	return round{
		noOp: result(30_000, 40, 1), matchmake: result(12_000, 95, 1), naiveMatchmake: result(3_000, 390, 1),
		resolve: result(8_000, 130, 1), fleetNoOp: result(40_000, 30, 1), heartbeat: result(25_000, 45, 1),
		loneMatchmake: grouped(result(900, 300, 1.2), 1), naiveLoneMatchmake: result(1000, 300, 1),
		crowdedMatchmake: grouped(result(13_000, 90, 80), 30),
	}
}

// grouped is a run with this mean number of calls in a batch.
func grouped(r bench.Result, mean float64) bench.Result {
	r.Costs.Groups = map[string]bench.Group{"placement": {MeanCalls: mean}}
	return r
}

// writing is a run with so many transactions a call.
func writing(transactions, p99 float64) bench.Result {
	r := result(1000, 10, p99)
	r.Costs.Transactions = transactions
	return r
}

// overloadedRun has answers after their callers' timeouts, and refusals without Retry-After.
func overloadedRun() bench.Result {
	r := bench.Result{Figures: bench.Figures{PerSecond: 1600, Calls: 1000, Failed: 15, Errors: map[string]int64{
		"503 unavailable": 5, "503 unavailable without Retry-After": 2, "429 rate_limited": 1, "timeout": 3,
		"409 no_capacity": 4,
	}}, Costs: &bench.Costs{ServerRSS: 300 << 20}}
	r.Latency = bench.Latency{P99: 1500, Curve: []bench.Point{{Percentile: 25, MS: 300}, {Percentile: 50, MS: 900},
		{Percentile: 75, MS: 901}, {Percentile: 100, MS: 1600}}}
	return withValues(r, map[string]float64{"at rest": 50 << 20, "/healthz p99": 251,
		"/.well-known/jwks.json p99": 250, "failed beside": 1})
}

// holding is a run of a replica that holds so much memory at the end.
func holding(bytes int64) bench.Result {
	r := result(10, 1, 1)
	r.Costs.ServerRSS = bytes
	return r
}

// joined is a run in which clients join a room and receive frames together.
func joined(clients int, frames, took float64) bench.Result {
	r := withValues(result(1, 0, took), map[string]float64{"frames": frames})
	r.Sessions = clients
	return r
}

// heartbeatsRun has updates that are not HOT, and tables that grow.
func heartbeatsRun() bench.Result {
	r := withValues(result(19_900, 0, 1), map[string]float64{"answered": 0.995, "instance_leases hot": 0.989,
		"instance_leases growth": 1.05, "instance_modes growth": 1.5})
	r.Calls, r.Costs.PostgresMicros = 1_000_000, 15
	return r
}

// Pins a single refusal, which a median would hide, and failures without their kinds.
func TestRefusals(t *testing.T) {
	t.Parallel()
	good, bad := bench.Result{Figures: bench.Figures{Calls: 1000}}, bench.Result{Figures: bench.Figures{
		Calls: 1000, Failed: 3, Errors: map[string]int64{"409 no_capacity": 2, "503 unavailable": 1},
	}}
	found := rounds{{rush: good, naiveRush: bad}, {rush: bad}}.judge(packing.claims)
	require.Equal(t, []string{"0.1 %", "1"}, []string{found[0].Measured, found[1].Measured})
	require.Equal(t, "2 × 409 no_capacity, 1 × 503 unavailable", found[1].Note)
	require.False(t, found[0].Met || found[1].Met)
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
	measured, missed := judge(snapshot.claims, round{sessionLife: {Timeline: steady}})
	require.Equal(t, []string{"40.0 %", "100.0 %", "0"}, measured)
	require.Equal(t, []int{0}, missed)
}
