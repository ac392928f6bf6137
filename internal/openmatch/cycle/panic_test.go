package cycle_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// recorder records what a guard has recovered.
type recorder struct {
	log      bytes.Buffer
	counted  *prometheus.CounterVec
	registry *prometheus.Registry
}

func newRecorder() *recorder {
	r := &recorder{
		counted:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "panics_total", Help: "Panics."}, []string{"goroutine"}),
		registry: prometheus.NewRegistry(),
	}
	r.registry.MustRegister(r.counted)
	return r
}

// guarded gives a replica the recorder's guard.
func guarded(r *recorder) func(*cycle.Options) {
	return func(o *cycle.Options) { o.Guard = panics.New(slog.New(slog.NewTextHandler(&r.log, nil)), r.counted) }
}

// requireOne does not wait: the calls have ended, so the panic has been reported.
func (r *recorder) requireOne(t *testing.T, goroutine, stack string) {
	t.Helper()
	require.InDelta(t, 1, metrictest.Sum(t, r.registry, "panics_total", "goroutine", goroutine), 0)
	require.Contains(t, r.log.String(), stack)
	require.Equal(t, 1, strings.Count(r.log.String(), "level=ERROR"))
}

// requireServes checks that the replica still runs cycles.
func (r *replica) requireServes(ids []string) {
	t := r.b.t
	t.Helper()
	d := proposes(proposal("after", 1, ids...))
	require.NoError(t, r.fetch(d))
	require.Equal(t, []string{"after"}, d.ids())
}

// Pins a replica that crashes by one match function's answer: only its caller gets an error.
func TestAPanicOfACallersRunIsThatCallersError(t *testing.T) {
	t.Parallel()
	b, recovered := setup(t), newRecorder()
	ids := b.tickets(1)
	r := b.replica(guarded(recovered))
	panicking := r.start(&director{run: func(context.Context, func(cycle.Proposal) error) error { panic("at the match function's answer") }})
	other := r.start(proposes(proposal("other", 1, ids...)))
	requireText(t, panicking.wait(t), "<nil>", "internal error")
	require.NoError(t, other.wait(t))
	require.Equal(t, []string{"other"}, other.ids())
	recovered.requireOne(t, "match function", "at the match function's answer")
}

func TestAPanicOfTheEvaluatorFailsItsCycleOnly(t *testing.T) {
	t.Parallel()
	b, recovered := setup(t), newRecorder()
	ids := b.tickets(1)
	var cycles atomic.Int64
	r := b.replica(guarded(recovered), by(evaluator(func(ctx context.Context, in <-chan cycle.Proposal, accept func(string) error) error {
		if cycles.Add(1) == 1 {
			panic("at a proposal")
		}
		return stream{}.Evaluate(ctx, in, accept)
	})))
	requireText(t, r.fetch(proposes(proposal("1", 1, ids...))), "internal error", "<nil>")
	recovered.requireOne(t, "evaluator", "at a proposal")
	r.requireServes(ids)
}

// Deliver runs in the caller's goroutine, which recovers panics itself: the engine must not wait for that call.
func TestAPanicOfDeliverLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(2)
	r := b.replica()
	d := proposes(proposal("1", 1, ids[0]))
	d.deliver = func(cycle.Accepted) error { panic("at a match") }
	require.PanicsWithValue(t, "at a match", func() { _ = r.Fetch(t.Context(), d) })
	r.requireServes(ids[1:])
}

// trapped gives a replica a store of which one method panics once, when it acquires a connection.
func (b *bundle) trapped(method string) func(*cycle.Options) {
	trap := &storetest.Trap{}
	trap.Arm(method, func() { panic("in " + method) })
	tracer := &storetest.Tracer{BeforeAcquire: func() { trap.AtCall("Store") }}
	return func(o *cycle.Options) { o.Store = b.store(func(c *db.Config) { c.Tracer = tracer }) }
}

// Pins a replica that crashes by a panic in one of the engine's own goroutines.
func TestAPanicOfACycleEndsItsCallersOnly(t *testing.T) {
	t.Parallel()
	for method, goroutine := range map[string]string{
		"JoinCycle":     "cycles", // puts callers into cycles
		"AdvanceCycle":  "cycle",  // runs one
		"AcceptMatches": "cycle",
		"EndCycle":      "cycle",
		"RenewCycle":    "lease of a cycle",
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			b, recovered := setup(t), newRecorder()
			ids := b.tickets(2)
			r := b.replica(guarded(recovered), window(time.Second), b.trapped(method))
			err := r.fetch(proposes(proposal("1", 1, ids[0])))
			require.ErrorContains(t, err, "internal error")
			recovered.requireOne(t, goroutine, "in "+method)
			r.requireServes(ids[1:])
		})
	}
}

// A panic of a follower does not affect the owner.
func TestAPanicOfAFollowerIsItsOwn(t *testing.T) {
	t.Parallel()
	b, recovered := setup(t), newRecorder()
	ids := b.tickets(2)
	owner := b.replica(window(time.Second))
	stays := owner.start(proposes(proposal("stays", 1, ids[0])))
	b.owned(owner)
	r := b.replica(guarded(recovered), b.trapped("Propose"))
	require.ErrorContains(t, r.fetch(proposes(proposal("2", 1, ids[1]))), "internal error")
	recovered.requireOne(t, "cycle", "in Propose")
	require.NoError(t, stays.wait(t))
	require.Equal(t, []string{"stays"}, stays.ids())
	r.requireServes(ids[1:])
}
