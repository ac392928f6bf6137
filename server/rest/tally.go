package rest

import (
	"net/http"
	"slices"
	"sync"
)

// RouteCount is how many requests of a route were answered.
type RouteCount struct {
	Route    string // method and pattern, as in POST /matchmake; refused: see [Gate.Guard]
	Requests int64
	Refused  int64 // of them, with a status from 400 to 498
	Failed   int64 // of them, with a status of 500 or more
}

// tally counts requests by route until somebody takes the counts. Routes and methods are those of the code, so that
// callers cannot make it grow.
type tally struct {
	mu            sync.Mutex
	countsByRoute map[string]*RouteCount
}

// untallied are routes whose answers say nothing about the game: probes, and paths that nobody serves, for which
// strangers on the internet look.
var untallied = []string{"/healthz", "/readyz", "/health", "/metrics", routeUnmatched}

// countRequest counts an answered request. A caller that left before its answer was not refused.
func (t *tally) countRequest(route, method string, status int) {
	if t == nil || slices.Contains(untallied, route) {
		return
	}
	c := RouteCount{Route: methodLabel(method) + " " + route, Requests: 1}
	if route == routeRefused {
		c.Route = route
	}
	switch {
	case status >= http.StatusInternalServerError:
		c.Failed = 1
	case status >= http.StatusBadRequest && status != statusClientGone:
		c.Refused = 1
	}
	t.addCount(c)
}

func (t *tally) addCount(c RouteCount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.countsByRoute[c.Route]
	if sum == nil {
		sum = &RouteCount{Route: c.Route}
		t.countsByRoute[c.Route] = sum
	}
	sum.Requests, sum.Refused, sum.Failed = sum.Requests+c.Requests, sum.Refused+c.Refused, sum.Failed+c.Failed
}

// TakeCounts returns what was answered since the last call, by route, without probes and unknown paths. Safe for
// concurrent use.
func (m *Metrics) TakeCounts() (all []RouteCount) {
	m.routeTally.mu.Lock()
	defer m.routeTally.mu.Unlock()
	for _, c := range m.routeTally.countsByRoute {
		all = append(all, *c)
	}
	clear(m.routeTally.countsByRoute)
	return all
}

// ReturnCounts adds counts that were taken and could not be stored to those that the next call of TakeCounts returns.
func (m *Metrics) ReturnCounts(all []RouteCount) {
	for _, c := range all {
		m.routeTally.addCount(c)
	}
}

// OfOperators returns Metrics whose requests TakeCounts of m leaves out: pages that operators look at are no requests of
// the game. Only m has counts to take.
func (m *Metrics) OfOperators() *Metrics {
	if m == nil {
		return nil
	}
	copied := *m
	copied.routeTally = nil
	return &copied
}
