package cycle

import (
	"errors"
	"sync"

	"github.com/google/uuid"
)

const maxCalls = 4096 // calls of Fetch at a time

// Engine runs the cycles of a region, together with the engines of other replicas. It is safe for concurrent use.
type Engine struct {
	resources   *resources
	callArrived chan struct{} // wakes Run: a call waits for a cycle

	mu           sync.Mutex
	callCount    int
	waitingCalls []*call
	roundByID    map[uuid.UUID]*round
	isClosed     bool
}

// New makes an engine that does nothing until [Engine.Run]. Errors: a required option is missing; the metrics are
// already registered.
func New(o Options) (*Engine, error) {
	if o.Store == nil || o.Universe == "" || o.Replica == uuid.Nil {
		return nil, errors.New("cycle: a store, a universe and the replica's id are required")
	}
	customEvaluator := o.Evaluator != nil
	o = o.withDefaults()
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	return &Engine{
		resources: &resources{options: o, customEvaluator: customEvaluator, metrics: m},
		roundByID: map[uuid.UUID]*round{}, callArrived: make(chan struct{}, 1),
	}, nil
}

// Hold counts the bytes of a match function's answer that are in memory before they are proposals, against the bound of
// all proposals. Each successful Hold needs a Release. Errors: the memory is in use. Safe for concurrent use.
func (e *Engine) Hold(bytes int) error { return e.resources.hold(bytes) }

// Release frees bytes that Hold counted.
func (e *Engine) Release(bytes int) { e.resources.release(bytes) }
