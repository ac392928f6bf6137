package nats

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	servers        prometheus.GaugeFunc
	refusedConns   *prometheus.CounterVec
	requests       *prometheus.CounterVec
	storeCalls     *prometheus.CounterVec
	refusedClients *prometheus.CounterVec
	endedConns     *prometheus.CounterVec
	panics         *prometheus.CounterVec
}

func newMetrics(servers func() float64) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "director_bevygap_server_" + name + "_total",
			Help: help}, labels)
	}
	return &metrics{
		servers: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "director_bevygap_servers",
			Help: "Game servers with bevygap's plugin that are connected to this replica over NATS."}, servers),
		refusedConns: counter("refused",
			"Refused connections of game servers over NATS by cause: busy (too many connect), full, crowded (too many "+
				"of one deployment), credential, throttled, over (the deployment has ended), unavailable, handshake.",
			"cause"),
		requests: counter("requests", "What game servers published over NATS: stream (a bucket is made), get, put, "+
			"context, other.", "request"),
		storeCalls: counter("calls", "Calls of the database for game servers over NATS by call (register, clients, session) "+
			"and outcome (ok, failed).", "call", "outcome"),
		refusedClients: counter("clients_refused",
			"Clients whom game servers over NATS have told and who have no seat, by "+
				"result. They stay connected: bevygap's plugin cannot be asked to disconnect them.", "result"),
		endedConns: counter("ends", "Ended connections of game servers over NATS by cause: closed (by the game server), "+
			"protocol, silent, slow, over, draining, internal.", "cause"),
		panics: counter("panics", "Recovered panics on connections of game servers over NATS, by goroutine. Each is a "+
			"defect: its stack is in the log.", "goroutine"),
	}
}

func (m *metrics) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.servers, m.refusedConns, m.requests, m.storeCalls, m.refusedClients,
		m.endedConns, m.panics} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("nats: %w", err)
		}
	}
	return nil
}

func (m *metrics) countCall(name string, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	m.storeCalls.WithLabelValues(name, outcome).Inc()
}
