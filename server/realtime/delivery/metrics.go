package delivery

import "github.com/prometheus/client_golang/prometheus"

// HubMetrics are the metrics of delivery. The methods that count may be called on nil.
type HubMetrics struct {
	rows      *prometheus.CounterVec
	snapshots *prometheus.CounterVec
	Delivery  prometheus.Histogram // observed by the connection that writes the frame
}

// NewHubMetrics returns metrics that the caller registers.
func NewHubMetrics() *HubMetrics {
	return &HubMetrics{
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_realtime_rows_total",
			Help: "Changes of rooms that were delivered to members on this replica, by where they were read: memory " +
				"(made by this replica), log.",
		}, []string{"source"}),
		snapshots: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_realtime_snapshots_total",
			Help: "Snapshots of rooms that were due besides those of joins, by cause: resync and ack (the client differs), " +
				"overflow (its outbox dropped patches), held (it acks too late for the patches that come), gap (rows of the log were gone).",
		}, []string{"cause"}),
		Delivery: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_realtime_delivery_seconds",
			Help: "Time from the transaction that changes a room until a member on this replica is written the patch or " +
				"the messages, its commit included. A patch behind a snapshot waits until the client has acknowledged that, for up to two seconds.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
}

// Collectors returns what the caller registers.
func (m *HubMetrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.rows, m.snapshots, m.Delivery}
}

// countRow counts a row. An answer comes with the room after it, the log without: how many come from the log says how
// much of what happens in rooms here is done by other replicas.
func (m *HubMetrics) countRow(o rowOffer) {
	if m == nil {
		return
	}
	source := "log"
	if o.snapshot != nil {
		source = "memory"
	}
	m.rows.WithLabelValues(source).Inc()
}

func (m *HubMetrics) countSnapshot(cause string) {
	if m != nil {
		m.snapshots.WithLabelValues(cause).Inc()
	}
}
