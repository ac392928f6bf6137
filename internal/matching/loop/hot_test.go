package loop_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/must"
)

// hot is a profile that always searches: hardly any ten players have teams with means so equal.
const hot = `
mode: arena
attributes: {skill: {type: number}}
teams: [{name: red, players: 5}, {name: blue, players: 5}]
rules: [{near: skill, within: 100000}, {balance: skill, teams: mean, within: 0.0000001}]
`

// BenchmarkHotNeighbour compares how long duels wait for their match beside hot profiles with how long they wait alone.
// The ratios are those of medians in the same run, of the runs the one in the middle; "hot-cpu" is the share of one CPU
// that the first one used. Nothing else should run on the machine.
func BenchmarkHotNeighbour(b *testing.B) {
	const duels = 150
	var waits, besideOne, besideFour, cpu []float64
	for b.Loop() {
		d := newBundle(b)
		d.host("host-1", 10_000, "arena")
		d.AddProfile("duel", duel)
		metrics := prometheus.NewRegistry()
		d.worker(func(o *loop.Options) { o.Metrics = metrics })
		d.duelsWait("first", 10) // the worker has begun
		alone, _ := d.duelsWait("alone", duels)
		d.heat("hot-0")
		before := decideSeconds(b, metrics)
		one, busy := d.duelsWait("one", duels)
		used := decideSeconds(b, metrics) - before
		for i := range 3 {
			d.heat(fmt.Sprint("hot-", i+1))
		}
		four, _ := d.duelsWait("four", duels)
		waits, cpu = append(waits, alone.Seconds()*1000), append(cpu, used/busy.Seconds())
		besideOne, besideFour = append(besideOne, one.Seconds()/alone.Seconds()), append(besideFour, four.Seconds()/alone.Seconds())
		b.Logf("alone %s, beside one %s, beside four %s", alone, one, four)
	}
	b.ReportMetric(middle(waits), "ms-alone")
	b.ReportMetric(middle(besideOne), "x-one-hot")
	b.ReportMetric(middle(besideFour), "x-four-hot")
	b.ReportMetric(middle(cpu), "hot-cpu")
}

// middle returns the median.
func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// heat queues players for a profile that never finishes searching.
func (b *bundle) heat(name string) {
	b.t.Helper()
	b.AddProfile(name, hot)
	for i := range 300 {
		b.ticket(10_000*rand.Float64(), party(fmt.Sprint(name, "-", i)), name)
	}
}

// duelsWait queues n pairs, one after the other, and returns how long the later player of a pair waited until the
// transaction of the match, in the median, and how long all took.
func (b *bundle) duelsWait(name string, n int) (median, took time.Duration) {
	b.t.Helper()
	began := time.Now()
	for i := range n {
		for k := range 2 {
			b.ticket(float64(1000*i), party(fmt.Sprint("duel-", name, "-", i, "-", k)), "duel")
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // pairs do not wait for each other
	}
	const matched = `SELECT count(*) FROM ticket_history WHERE party[1] LIKE 'duel-' || $1 || '-%' AND match_id IS NOT NULL`
	b.Eventually(2*n, matched, name)
	var seconds float64
	require.NoError(b.t, b.Pool().QueryRow(b.t.Context(), `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM at - last)) FROM (
		SELECT max(created) AS last, min(left_at) AS at FROM ticket_history WHERE party[1] LIKE 'duel-' || $1 || '-%' GROUP BY match_id) m`, name).Scan(&seconds))
	return time.Duration(seconds * float64(time.Second)), time.Since(began)
}

// decideSeconds is how long profiles have decided, of all goroutines together.
func decideSeconds(b *testing.B, metrics *prometheus.Registry) (sum float64) {
	b.Helper()
	families := must.Get(metrics.Gather())(b)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "director_loop_decide_seconds" {
				sum += m.GetHistogram().GetSampleSum()
			}
		}
	}
	return sum
}
