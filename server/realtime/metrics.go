package realtime

import (
	"strconv"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/server/realtime/delivery"
)

// metrics are the metrics of this replica's connections, with those of its hubs.
type metrics struct {
	connections    prometheus.GaugeFunc
	handshakes     *prometheus.CounterVec
	frames         *prometheus.CounterVec
	failures       *prometheus.CounterVec
	closedConns    *prometheus.CounterVec
	takeovers      prometheus.Counter
	droppedPatches prometheus.Counter
	silentClients  prometheus.Counter
	panics         *prometheus.CounterVec

	receivedFrames, sentFrames prometheus.Counter // frames, by direction
	hub                        *delivery.HubMetrics
}

func newMetrics(connections func() float64) *metrics {
	m := &metrics{
		connections: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "director_realtime_connections",
			Help: "Connections of realtime clients to this replica, also those before their handshake.",
		}, connections),
		handshakes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_realtime_handshakes_total",
			Help: "Handshakes of realtime clients by outcome: ok; gone (the client left); full, not_ready, origin, http " +
				"(before the upgrade); or the code of the refusal.",
		}, []string{"outcome"}),
		frames: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_realtime_frames_total", Help: "Frames of realtime clients by direction: received, sent.",
		}, []string{"direction"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_realtime_failures_total", Help: "Frames of realtime clients that had no effect, by code.",
		}, []string{"code"}),
		closedConns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_realtime_closes_total",
			Help: "Closed connections of realtime clients by close code; -1: there was no close frame.",
		}, []string{"code"}),
		takeovers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "director_realtime_takeovers_total",
			Help: "Sessions that were resumed while another connection held them.",
		}),
		droppedPatches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "director_realtime_patches_dropped_total",
			Help: "Patches and snapshots that were not sent because the client reads too slowly. A snapshot follows.",
		}),
		silentClients: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "director_realtime_silent_total",
			Help: "Connections that were cut because the client did not answer a ping.",
		}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_realtime_panics_total",
			Help: "Recovered panics of the realtime lobby, by goroutine. Each is a defect: its stack is in the log.",
		}, []string{"goroutine"}),
		hub: delivery.NewHubMetrics(),
	}
	m.receivedFrames, m.sentFrames = m.frames.WithLabelValues("received"), m.frames.WithLabelValues("sent")
	return m
}

func (m *metrics) register(r prometheus.Registerer) error {
	own := []prometheus.Collector{m.connections, m.handshakes, m.frames, m.failures, m.closedConns, m.takeovers,
		m.droppedPatches, m.silentClients, m.panics}
	for _, c := range append(own, m.hub.Collectors()...) {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *metrics) countClose(code websocket.StatusCode) {
	m.closedConns.WithLabelValues(strconv.Itoa(int(code))).Inc()
}
