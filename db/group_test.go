package db

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// hangar runs flights of numbers that a test lets go one by one.
type hangar struct {
	*group[int, int]
	boarded chan []int
	takeoff chan func([]*call[int, int]) error
}

func groupConfig(maxWaiting int) Config {
	return Config{BatchTimeout: time.Minute, MaxWaiting: maxWaiting, MaxWaitingBytes: 1000}.withDefaults()
}

// kilobytes is how large a call is: one that asks for 1000 or more takes place, others none.
func kilobytes(req int) int { return req / 1000 * 400 }

func newHangar(t *testing.T, maxWeight, maxWaiting int) *hangar {
	h := &hangar{boarded: make(chan []int), takeoff: make(chan func([]*call[int, int]) error)}
	h.group = newGroup(groupConfig(maxWaiting), "test", groupLimits[int]{maxWeight, byCount[int], kilobytes}, func(_ context.Context, _ string, calls []*call[int, int]) error {
		var reqs []int
		for _, c := range calls {
			reqs = append(reqs, c.req)
		}
		h.boarded <- reqs
		return (<-h.takeoff)(calls)
	})
	return h
}

func answerDouble(calls []*call[int, int]) error {
	for _, c := range calls {
		c.answer(2*c.req, nil)
	}
	return nil
}

type asked struct {
	res int
	err error
}

func (h *hangar) ask(ctx context.Context, req int) <-chan asked {
	out := make(chan asked, 1)
	go func() { res, err := h.do(ctx, "k", req); out <- asked{res, err} }()
	return out
}

// waitQueued waits until n calls wait for the next flight.
func (h *hangar) waitQueued(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.queues["k"]) == n }, 5*time.Second, time.Millisecond)
}

func TestGroupFliesWhatQueued(t *testing.T) {
	t.Parallel()
	h := newHangar(t, 2, 100)
	first := h.ask(t.Context(), 1)
	require.Equal(t, []int{1}, <-h.boarded, "a lone caller waits for nobody")
	var rest []<-chan asked
	for i := range 3 {
		rest = append(rest, h.ask(t.Context(), 10+i))
		h.waitQueued(t, i+1)
	}
	h.takeoff <- answerDouble
	require.Equal(t, asked{2, nil}, <-first)
	require.Equal(t, []int{10, 11}, <-h.boarded, "as many as the weight allows, the oldest first")
	h.takeoff <- answerDouble
	require.Equal(t, []int{12}, <-h.boarded)
	h.takeoff <- answerDouble
	for i, c := range rest {
		require.Equal(t, asked{20 + 2*i, nil}, <-c)
	}
	require.NoError(t, h.drain(t.Context()))
	require.Empty(t, h.queues, "an idle key costs nothing")
}

// One bad member sinks only itself, however large the flight.
func TestGroupRetriesDataErrorsByHalves(t *testing.T) {
	t.Parallel()
	bad := &pgconn.PgError{Code: "22021"}
	g := newGroup(groupConfig(1000), "test", groupLimits[int]{1000, byCount[int], kilobytes},
		func(_ context.Context, _ string, calls []*call[int, int]) error {
			if slices.ContainsFunc(calls, func(c *call[int, int]) bool { return c.req == 13 }) {
				return bad
			}
			return answerDouble(calls)
		})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			res, err := g.do(t.Context(), "k", i)
			if i == 13 {
				require.ErrorIs(t, err, bad)
			} else {
				require.NoError(t, err)
				require.Equal(t, 2*i, res)
			}
		})
	}
	wg.Wait()
}

func TestGroupAnswersEveryoneWhenTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	h := newHangar(t, 10, 100)
	one := h.ask(t.Context(), 1)
	<-h.boarded
	h.takeoff <- func([]*call[int, int]) error { return errors.New("connection reset") }
	require.True(t, IsKind((<-one).err, Unavailable))
}

func TestGroupTriesConflictsAgain(t *testing.T) {
	t.Parallel()
	h := newHangar(t, 10, 100)
	one := h.ask(t.Context(), 1)
	for range 3 {
		<-h.boarded
		h.takeoff <- func([]*call[int, int]) error { return &pgconn.PgError{Code: "40P01"} }
	}
	<-h.boarded
	h.takeoff <- answerDouble
	require.Equal(t, asked{2, nil}, <-one)
}

// What a flight leaves undecided goes to the head of the next one.
func TestGroupDefersTheUndecided(t *testing.T) {
	t.Parallel()
	h := newHangar(t, 10, 100)
	one := h.ask(t.Context(), 1)
	<-h.boarded
	two := h.ask(t.Context(), 2)
	h.waitQueued(t, 1)
	h.takeoff <- func([]*call[int, int]) error { return nil }
	require.Equal(t, []int{1, 2}, <-h.boarded)
	h.takeoff <- answerDouble
	require.Equal(t, []asked{{2, nil}, {4, nil}}, []asked{<-one, <-two})
}

func TestGroupDropsWhoLeftAndBoundsTheQueue(t *testing.T) {
	t.Parallel()
	h := newHangar(t, 10, 2)
	one := h.ask(t.Context(), 1)
	<-h.boarded
	ctx, cancel := context.WithCancel(t.Context())
	gone := h.ask(ctx, 2)
	h.waitQueued(t, 1)
	stays := h.ask(t.Context(), 3)
	h.waitQueued(t, 2)
	_, err := h.do(t.Context(), "k", 4)
	require.True(t, IsKind(err, Unavailable), "two wait already")
	cancel()
	require.True(t, IsKind((<-gone).err, Unavailable))
	h.takeoff <- answerDouble
	<-one
	require.Equal(t, []int{3}, <-h.boarded, "nothing is decided for who left before")
	h.takeoff <- answerDouble
	require.Equal(t, asked{6, nil}, <-stays)
}

// Pins queues that count calls and not bytes: 32,768 tickets of 64 KiB are 2 GiB.
func TestGroupBoundsTheBytesOfTheQueue(t *testing.T) {
	t.Parallel()
	h := newHangar(t, 10, 100) // 1000 bytes may wait
	flying := h.ask(t.Context(), 2000)
	<-h.boarded
	small := h.ask(t.Context(), 1)
	h.waitQueued(t, 1)
	large := h.ask(t.Context(), 2001)
	h.waitQueued(t, 2)
	_, err := h.do(t.Context(), "k", 1000)
	require.True(t, IsKind(err, Unavailable), "800 bytes wait, it has 400: %v", err)
	h.takeoff <- func([]*call[int, int]) error { return nil } // undecided: it waits again
	require.Equal(t, []int{2000, 1, 2001}, <-h.boarded)
	largest := h.ask(t.Context(), 2002)
	h.waitQueued(t, 1)
	h.takeoff <- answerDouble
	require.Equal(t, []int{2002}, <-h.boarded)
	h.takeoff <- answerDouble
	for _, c := range []<-chan asked{flying, small, large, largest} {
		require.NoError(t, (<-c).err)
	}
	require.NoError(t, h.drain(t.Context()))
	require.Zero(t, h.bytes, "what left the queue counts no more")
	_, err = h.do(t.Context(), "k", 3000)
	require.True(t, IsKind(err, Unavailable), "it alone has 1200 bytes")
}

// watchman counts what a group tells its observer.
type watchman struct{ panics atomic.Int32 }

func (w *watchman) Flight(string, int, time.Duration, time.Duration) {}
func (w *watchman) Panic(string)                                     { w.panics.Add(1) }

// Pins a bug in the decision about one batch that ended the whole replica.
func TestGroupSurvivesAPanic(t *testing.T) {
	t.Parallel()
	h := newHangar(t, 10, 100)
	var log bytes.Buffer
	w := &watchman{}
	h.log, h.observer = slog.New(slog.NewTextHandler(&log, nil)), w
	one := h.ask(t.Context(), 1)
	<-h.boarded
	two, three := h.ask(t.Context(), 2), h.ask(t.Context(), 3)
	h.waitQueued(t, 2)
	h.takeoff <- func(calls []*call[int, int]) error { return answerDouble(calls[:calls[0].req+100]) }
	err := (<-one).err
	require.ErrorContains(t, err, "slice bounds out of range")
	var known *Error
	require.NotErrorAs(t, err, &known, "it is internal")
	<-h.boarded
	h.takeoff <- answerDouble
	require.Equal(t, []asked{{4, nil}, {6, nil}}, []asked{<-two, <-three}, "the next batch is decided")
	require.Equal(t, int32(1), w.panics.Load())
	require.Contains(t, log.String(), "TestGroupSurvivesAPanic", "the stack")
	require.Contains(t, log.String(), "group=test")
}

// Pins a batch that holds its connection, and locks, when all who wait for its decision have given up.
func TestGroupEndsABatchWithItsLastCaller(t *testing.T) {
	t.Parallel()
	deadlines := make(chan time.Time)
	g := newGroup(groupConfig(10), "test", groupLimits[int]{10, byCount[int], kilobytes}, func(ctx context.Context, _ string, calls []*call[int, int]) error {
		at, _ := ctx.Deadline()
		deadlines <- at
		return answerDouble(calls)
	})
	soon, later := time.Now().Add(30*time.Second), time.Now().Add(40*time.Second)
	ask := func(deadlines ...time.Time) (calls []*call[int, int]) {
		for _, d := range deadlines {
			ctx, cancel := context.WithDeadline(t.Context(), d)
			t.Cleanup(cancel)
			calls = append(calls, newCall[int, int](ctx, 0, 0))
		}
		return calls
	}
	patient := newCall[int, int](t.Context(), 0, 0)
	for name, test := range map[string]struct {
		calls []*call[int, int]
		want  time.Time
	}{
		"the last one's deadline":    {ask(soon, later, soon), later},
		"no longer than the timeout": {ask(soon, time.Now().Add(time.Hour)), time.Now().Add(time.Minute)},
		"one who waits for ever":     {append(ask(soon), patient), time.Now().Add(time.Minute)},
	} {
		go g.flight("k", test.calls)
		require.WithinDuration(t, test.want, <-deadlines, 5*time.Second, name)
	}
}

// A flight on a context of its own would be in nobody's trace, and all the SQL of hot calls with it.
func TestGroupIsSeenInItsCallersTraces(t *testing.T) {
	t.Parallel()
	seen := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(seen)).Tracer("test")
	h := newHangar(t, 10, 100)
	lead := h.ask(t.Context(), 1)
	<-h.boarded
	var calls []<-chan asked
	for i := range 2 {
		ctx, span := tracer.Start(t.Context(), "call")
		t.Cleanup(func() { span.End() })
		calls = append(calls, h.ask(ctx, 2+i))
		h.waitQueued(t, i+1)
	}
	h.takeoff <- answerDouble
	<-lead
	<-h.boarded
	h.takeoff <- answerDouble
	for _, c := range calls {
		<-c
	}
	require.NoError(t, h.drain(t.Context()))
	spans := seen.Ended()
	require.Len(t, spans, 1, "untraced calls make none")
	require.Equal(t, "group test", spans[0].Name())
	require.True(t, spans[0].Parent().IsValid())
	require.Len(t, spans[0].Links(), 1)
}
