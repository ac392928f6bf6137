package replay_test

import (
	"testing"

	"github.com/lattice-director/director/internal/testkit/cputime"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/replay"
	"github.com/lattice-director/director/match/simulate"
)

// BenchmarkHour replays an hour of 100 tickets a second: cpu-s is what one core needs for it, at most 10 s.
func BenchmarkHour(b *testing.B) {
	for name, document := range profiles {
		b.Run(name, func(b *testing.B) {
			o := simulate.Defaults()
			o.Rate, o.Profile = 100, must.Get(profile.Parse([]byte(document)))(b)
			for range b.N {
				before := cputime.ProcessTime(b)
				report := simulated(b, o)
				b.ReportMetric((cputime.ProcessTime(b) - before).Seconds(), "cpu-s")
				b.ReportMetric(float64(report.Replayed.Matched)/float64(report.Replayed.Tickets), "matched")
			}
		})
	}
}

// profiles have rules under which most searches find a match. Rules under which many find none take longer, as in the
// director loop.
var profiles = map[string]string{
	"1v1": "name: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\n" +
		"rules: [{near: skill, within: 50, widen: [{after: 10s, within: 100}]}, {latency: 80ms}]\n",
	"5v5": "name: five\nteams: [{name: red, players: 5}, {name: blue, players: 5}]\n" +
		"rules: [{near: skill, within: 100, widen: [{after: 10s, within: 200}, {after: 20s, within: any}]}]\n",
}

func simulated(t testing.TB, o simulate.Options) *replay.Report {
	t.Helper()
	return must.Get(replay.Run(t.Context(), replay.Input{
		Version: decide.Version{Profile: o.Profile}, Seed: o.Seed, Begin: o.From, End: o.End(),
		Regions: []string{"ap", "eu", "us"}, Arrivals: must.Get(simulate.Arrivals(o))(t),
	}))(t)
}
