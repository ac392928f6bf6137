package replay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/replay"
	"github.com/lattice-director/director/match/simulate"
)

const tradedDuel = "name: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\nattributes: {skill: {type: number}}\n"

// The cost is at most 1.6 times that of somebody who knew all arrivals, at any rate of arrivals and for any trade, with
// nothing else in the profile. First come, first served costs up to 40 times as much, fixed steps of widening up to 3
// times.
func TestATradeCostsLittleMoreThanTheOptimum(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.2, 1, 5, 50} {
		for _, trade := range []float64{5, 10, 40} {
			o := simulate.Defaults()
			document := tradedDuel + fmt.Sprintf("trade: {skill: %g per second}\n", trade)
			o.Profile, o.Rate, o.Hours = must.Get(profile.Parse([]byte(document)))(t), rate, 200/rate/3600
			o.Parties, o.Regions = []simulate.Share{{Size: 1, Weight: 1}}, nil // single players with skill 1500±300
			report := simulated(t, o)
			require.NotNil(t, report.Optimum)
			t.Logf("%4g tickets a second, %2g points a second: %.2f times", rate, trade, report.Optimum.Ratio)
			require.Less(t, report.Optimum.Ratio, 1.6)
			require.GreaterOrEqual(t, report.Optimum.Ratio, 1.0)
			require.InDelta(t, report.Replayed.Trade.Total, report.Optimum.Paid, 0.001*report.Optimum.Paid)
		}
	}
}

// What recorded matches cost is computed from their tickets, so that rules without a trade are compared with rules that
// have one.
func TestTheCostOfRecordedMatches(t *testing.T) {
	t.Parallel()
	r := run(t, tradedDuel+"trade: {skill: 10 per second}\n", nil,
		matched(at(0, "ada", 1000), "m", true, 1), matched(at(1, "bo", 1100), "m", false, 1), at(5, "cy", 9000))
	require.InDelta(t, 100.0/3/10+(1+0+3595)/3.0, r.Recorded.Trade.Total, 0.001)
	require.InDelta(t, 100.0/3, r.Recorded.Trade.Parts[0].Value, 0.001)
	require.InDelta(t, 10.0, r.Replayed.Waiting.Mean*2, 0.001, "100 points are 10 s, which both wait for")
	r = run(t, duel, nil, at(0, "ada", 1000), at(1, "bo", 1100))
	require.Nil(t, r.Recorded.Trade)
	require.Nil(t, r.Optimum)
}

// Tickets that leave, and those that wait at the end, pay for their waiting, here as in the optimum.
func TestWhoLeavesPaysForWaiting(t *testing.T) {
	t.Parallel()
	quit := at(0, "ada", 1000)
	quit.LeftAt, quit.Why = begin.Add(2*time.Second), replay.Quit
	r := run(t, tradedDuel+"trade: {skill: 10 per second}\n", func(in *replay.Input) { in.End = begin.Add(time.Minute) }, quit, at(3, "bo", 1000))
	require.InDelta(t, (2+57)/2.0, r.Replayed.Trade.Total, 0.001)
	require.InDelta(t, 1, r.Optimum.Ratio, 0.001)
}
