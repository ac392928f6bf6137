package roster

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// registerMetrics makes the metrics of the roster.
func (r *Roster) registerMetrics(to prometheus.Registerer) error {
	r.readSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "director_roster_read_seconds",
		Help:    "Time that this replica took to update its copy of the fleet of agents.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)})
	gauge := func(name, help string, value func(Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			if v := r.View(); v != nil {
				return value(v.fleetStats)
			}
			return 0
		})
	}
	return registerAll(to, r.readSeconds,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "director_roster_age_seconds",
			Help: "Age of this replica's copy of the fleet of agents; up to two seconds while nothing changes."},
			func() float64 { return r.Age().Seconds() }),
		gauge("director_roster_instances", "Connected Rivalis processes that this replica lists.",
			func(s Stats) float64 { return float64(s.Instances) }),
		gauge("director_roster_rooms", "Rooms of Rivalis processes that this replica lists.",
			func(s Stats) float64 { return float64(s.Rooms) }),
		gauge("director_roster_connections", "Players' connections to the listed rooms.",
			func(s Stats) float64 { return float64(s.Connections) }),
	)
}

// eventMetrics count events.
type eventMetrics struct{ eventsByType *prometheus.CounterVec }

func (m *eventMetrics) countSent(kind string) { m.eventsByType.WithLabelValues(kind).Inc() }

func (e *Events) registerMetrics(to prometheus.Registerer) (*eventMetrics, error) {
	m := &eventMetrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "director_fleet_events_total",
		Help: "Fleet events that this replica read for its streams, by type; " +
			"sync and resync are also counted for each stream that resumes."},
		[]string{"type"})}
	return m, registerAll(to, m.eventsByType, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "director_fleet_event_streams", Help: "Open streams of fleet events on this replica."},
		func() float64 { return float64(e.Streams()) }))
}

func registerAll(to prometheus.Registerer, all ...prometheus.Collector) (err error) {
	if to == nil {
		return nil
	}
	for _, c := range all {
		err = errors.Join(err, to.Register(c))
	}
	return err
}
