// Package gauges has gauges whose series come and go, such as one for each webhook.
package gauges

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Vec is a gauge whose series are shown together. Make it with [New]. One goroutine at a time calls Show; scrapes may
// come at any time.
type Vec struct {
	gauge       *prometheus.GaugeVec
	shownSeries map[string][]string // the labels of the series, by their joined text
}

// New returns a gauge without series.
func New(name, help string, labels ...string) *Vec {
	return &Vec{gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)}
}

// Series is a value and its labels, in the order in which [New] got their names.
type Series struct {
	value  float64
	labels []string
}

// Value returns a series.
func Value(value float64, labels ...string) Series { return Series{value, labels} }

// Show sets these series, and then removes all others. Reset instead would leave a moment in which a scrape finds no
// series, and an alert on an absent one fires.
func (v *Vec) Show(all []Series) {
	gone := v.shownSeries
	v.shownSeries = make(map[string][]string, len(all))
	for _, s := range all {
		v.gauge.WithLabelValues(s.labels...).Set(s.value)
		key := strings.Join(s.labels, "\x00")
		v.shownSeries[key] = s.labels
		delete(gone, key)
	}
	for _, labels := range gone {
		v.gauge.DeleteLabelValues(labels...)
	}
}

// Describe implements [prometheus.Collector].
func (v *Vec) Describe(to chan<- *prometheus.Desc) { v.gauge.Describe(to) }

// Collect implements [prometheus.Collector].
func (v *Vec) Collect(to chan<- prometheus.Metric) { v.gauge.Collect(to) }
