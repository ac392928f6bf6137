package orchestrator

import (
	"strconv"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of this replica's agent connections.
type metrics struct {
	agents                   *prometheus.GaugeVec
	refusedHandshakes        *prometheus.CounterVec
	pollOutcomes             *prometheus.CounterVec
	pollSeconds              prometheus.Histogram
	commandSeconds           *prometheus.HistogramVec
	closedConns              *prometheus.CounterVec
	connBytes                *prometheus.CounterVec
	receivedBytes, sentBytes prometheus.Counter // of connBytes
	panics                   *prometheus.CounterVec
}

func newMetrics() *metrics {
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	m := &metrics{
		agents: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "director_agents",
			Help: "Connected Rivalis agents of this replica by state: joining (no full state yet), listed, " +
				"stale (two polls without a reply).",
		}, []string{"state"}),
		refusedHandshakes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_agent_handshakes_refused_total",
			Help: "Refused connections of Rivalis agents by cause: key, throttled, full, busy, not_ready, elsewhere, " +
				"handshake.",
		}, []string{"cause"}),
		pollOutcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_agent_polls_total",
			Help: "Polls and messages of Rivalis agents by outcome: replied, missed; " +
				"refused (outside the limits), old (seq does not grow), " +
				"dropped (does not decode), lost (an ack dropped because too many acks waited for the database).",
		}, []string{"outcome"}),
		pollSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "director_agent_poll_seconds", Help: "Time from a poll to the reply of the Rivalis agent.",
			Buckets: seconds,
		}),
		commandSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "director_agent_command_seconds",
			Help:    "Time from sending a command to the ack of the Rivalis agent, by command and outcome (done, failed).",
			Buckets: seconds,
		}, []string{"op", "outcome"}),
		closedConns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_agent_closes_total",
			Help: "Closed connections of Rivalis agents by close code; 1006: this replica sent no close frame.",
		}, []string{"code"}),
		connBytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_agent_bytes_total",
			Help: "Bytes on the connections of Rivalis agents, by direction: received, sent.",
		}, []string{"direction"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "director_agent_panics_total",
			Help: "Recovered panics on connections of Rivalis agents, by goroutine. " +
				"Each is a defect: its stack is in the log.",
		}, []string{"goroutine"}),
	}
	m.receivedBytes, m.sentBytes = m.connBytes.WithLabelValues("received"), m.connBytes.WithLabelValues("sent")
	return m
}

func (m *metrics) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.agents, m.refusedHandshakes, m.pollOutcomes, m.pollSeconds,
		m.commandSeconds, m.closedConns, m.connBytes, m.panics} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *metrics) setAgents(joining, listed, stale int) {
	m.agents.WithLabelValues("joining").Set(float64(joining))
	m.agents.WithLabelValues("listed").Set(float64(listed))
	m.agents.WithLabelValues("stale").Set(float64(stale))
}

func (m *metrics) countClose(code websocket.StatusCode) {
	m.closedConns.WithLabelValues(strconv.Itoa(int(code))).Inc()
}

func (m *metrics) countAck(j ackJob) {
	outcome := "failed"
	if j.ack.succeeded {
		outcome = "done"
	}
	m.commandSeconds.WithLabelValues(j.command.op, outcome).Observe(j.roundTrip.Seconds())
}
