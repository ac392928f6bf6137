package realtime

import "github.com/prometheus/client_golang/prometheus"

// hubMetrics are the metrics of delivery. Its methods may be called on nil.
type hubMetrics struct {
	rows      *prometheus.CounterVec
	snapshots *prometheus.CounterVec
}

func newHubMetrics() *hubMetrics {
	return &hubMetrics{
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_realtime_rows_total",
			Help: "Changes of rooms that were delivered to members on this replica, by where they were read: memory (made by this replica), log.",
		}, []string{"source"}),
		snapshots: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_realtime_snapshots_total",
			Help: "Snapshots of rooms that were due besides those of joins, by cause: resync and ack (the client differs), overflow (its outbox dropped patches), " +
				"held (it acks too late for the patches that come), gap (rows of the log were gone).",
		}, []string{"cause"}),
	}
}

func (m *hubMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.rows, m.snapshots}
}

// applied counts a row. An answer comes with the room after it, the log without.
func (m *hubMetrics) applied(o offer) {
	if m == nil {
		return
	}
	source := "log"
	if o.after != nil {
		source = "memory"
	}
	m.rows.WithLabelValues(source).Inc()
}

func (m *hubMetrics) snapshot(cause string) {
	if m != nil {
		m.snapshots.WithLabelValues(cause).Inc()
	}
}
