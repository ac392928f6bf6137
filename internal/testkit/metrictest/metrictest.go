// Package metrictest reads metrics in tests.
package metrictest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/internal/testkit/must"
)

// Registry returns a registry that has these metrics.
func Registry(metrics ...prometheus.Collector) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics...)
	return registry
}

// Sum adds up the series of a metric: the values of counters and gauges, and how often histograms observed one. With a
// label, its name and its value, it takes those series alone. A metric without a series is 0.
func Sum(t testing.TB, from prometheus.Gatherer, name string, label ...string) (sum float64) {
	t.Helper()
	for _, family := range must.Get(from.Gather())(t) {
		for _, m := range family.GetMetric() {
			matches := len(label) == 0
			for _, pair := range m.GetLabel() {
				matches = matches || pair.GetName() == label[0] && pair.GetValue() == label[1]
			}
			if matches && family.GetName() == name {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// Series returns how many series a metric has.
func Series(t testing.TB, from prometheus.Gatherer, name string) int {
	t.Helper()
	for _, family := range must.Get(from.Gather())(t) {
		if family.GetName() == name {
			return len(family.GetMetric())
		}
	}
	return 0
}
