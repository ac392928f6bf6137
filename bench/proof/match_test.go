package proof

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// Pins findings that compare with a wrong trial, report a target as missed that is met, or take the CPU of a call for
// that of a second.
func TestMatchFindings(t *testing.T) {
	t.Parallel()
	life, steady, idle := result(200, 300, 70), result(1_900, 450, 30), result(1, 30_000, 1000)
	life.Latency.P50 = 9
	life.Steps = []bench.Step{{Name: "create", Figures: bench.Figures{Latency: bench.Latency{P50: 4}}}}
	steady.Open, steady.Tickets = &bench.Open{Rate: 2000}, 20_000
	r := round{
		queueAll: result(1, 0, 1_050), seatAll: result(1, 0, 1_900), fetchAll: result(1, 0, 700), duelLife: life, pacedNoOp: result(200, 100, 1),
		notices: result(200, 0, 0.4), commit: result(5_000, 0, 6), steadyLoad: steady, idleQueue: idle,
	}
	for d, micros := range map[decision]float64{duels: 4, teams: 6, fewTeams: 3, manyTeams: 6} {
		r[d.name()] = bench.Result{Costs: &bench.Costs{GeneratorMicros: micros}}
	}
	findings := rounds{r}.match(matchSizes{10_000, 50_000})
	got, missed := values(findings)
	idleCPU := findings[5].Value
	require.Equal(t, []string{"1.50 ×", "1900.00 ms", "9.00 ms", "70.00 ms", "450.0 µs", idleCPU, "200.00 ms", "300.00 ms", "2.00 ×", "0"}, got)
	require.Equal(t, []int{0, 3, 7, 8}, missed)
	require.Equal(t, "1.5 %", idleCPU)
	require.Equal(t, "1050.00 ms; an Open Match director takes 700.00 ms to fetch and assign as many in pairs, without seats; as many single-row commits take 2000.00 ms", findings[0].Note)
	require.Contains(t, findings[2].Note, "creating 4.00 ms, of a no-op 1.00 ms, a notification 0.40 ms")
	require.Contains(t, findings[4].Note, "1,900/s of the 2,000/s requested, beside 20,000 that wait")
}

// Pins a decision that is made about nobody.
func TestDecidedCrowd(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse(fmt.Appendf(nil, decidedProfile, 5, 5))
	require.NoError(t, err)
	e := decide.New(decide.Version{Profile: p, Number: 1}, 1)
	for _, ticket := range crowdOf(1_000) {
		e.Add(ticket)
	}
	found, done := e.Run(begin.Add(time.Minute), math.MaxInt)
	require.True(t, done)
	require.Greater(t, len(found), 90)
}

// Pins findings that take the first match of a takeover for the last one.
func TestTakeoverFindings(t *testing.T) {
	t.Parallel()
	took := func(first, each float64) bench.Result {
		r := result(1000, 0, first)
		r.Calls, r.Tickets, r.Latency.Max = 1000, 200_000, each
		return r
	}
	findings := rounds{round{takeoverSpread: took(1_900, 5_100), takeoverInOne: took(2_100, 4_900)}}.takeoverFindings()
	got, missed := values(findings)
	require.Equal(t, []string{"1900.00 ms", "5100.00 ms", "2100.00 ms", "4900.00 ms"}, got)
	require.Equal(t, []int{1, 2}, missed)
	require.Contains(t, findings[0].Note, "1,000 profiles and 200,000 tickets")
}
