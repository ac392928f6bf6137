// Package metrictest reads metrics in tests.
package metrictest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/internal/testkit/must"
)

// Registry returns a new registry with these metrics.
func Registry(metrics ...prometheus.Collector) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics...)
	return registry
}

// Sum adds up the series of a metric: the values of counters and gauges, and how many values histograms observed. With
// two more arguments, the name and the value of a label, it takes only the series with that label. The sum of no series
// is 0.
func Sum(t testing.TB, from prometheus.Gatherer, name string, label ...string) (sum float64) {
	t.Helper()
	for _, family := range must.Get(from.Gather())(t) {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			isWanted := len(label) == 0
			for _, pair := range m.GetLabel() {
				isWanted = isWanted || pair.GetName() == label[0] && pair.GetValue() == label[1]
			}
			if isWanted {
				// A series has one of the three; the others are 0.
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// CountSeries returns how many series a metric has.
func CountSeries(t testing.TB, from prometheus.Gatherer, name string) int {
	t.Helper()
	for _, family := range must.Get(from.Gather())(t) {
		if family.GetName() == name {
			return len(family.GetMetric())
		}
	}
	return 0
}
