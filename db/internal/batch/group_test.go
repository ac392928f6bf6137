package batch

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

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lattice-director/director/internal/base/panics"
)

var (
	errUnavailable = errors.New("unavailable")
	errConflict    = errors.New("conflict")
	errData        = errors.New("bad data")
)

// stepped is a group of numbers whose batches a test decides one by one.
type stepped struct {
	*Group[int, int]
	begun  chan []int
	finish chan func([]*Call[int, int]) error
}

func config(maxWaiting int) Config {
	return Config{
		MaxWaiting: maxWaiting, MaxWaitingBytes: 1000, BatchTimeout: time.Minute, Log: slog.New(slog.DiscardHandler),
		Errors: Errors{
			IsConflict:  func(err error) bool { return errors.Is(err, errConflict) },
			IsData:      func(err error) bool { return errors.Is(err, errData) },
			Classify:    func(err error) error { return err },
			Unavailable: func(string, error) error { return errUnavailable },
		},
	}
}

// kilobytes is the size of a call: 400 bytes for each whole thousand of its number.
func kilobytes(req int) int { return req / 1000 * 400 }

func newStepped(maxWeight, maxWaiting int) *stepped {
	g := &stepped{begun: make(chan []int), finish: make(chan func([]*Call[int, int]) error)}
	decide := func(_ context.Context, _ string, calls []*Call[int, int]) error {
		var reqs []int
		for _, c := range calls {
			reqs = append(reqs, c.Req)
		}
		g.begun <- reqs
		return (<-g.finish)(calls)
	}
	g.Group = New(config(maxWaiting), "test", limits(maxWeight), decide)
	return g
}

func limits(maxWeight int) Limits[int] {
	return Limits[int]{MaxWeight: maxWeight, CallWeight: One[int], CallBytes: kilobytes}
}

func answerDouble(calls []*Call[int, int]) error {
	for _, c := range calls {
		c.Answer(2*c.Req, nil)
	}
	return nil
}

type answer struct {
	res int
	err error
}

func (g *stepped) call(ctx context.Context, req int) <-chan answer {
	out := make(chan answer, 1)
	go func() { res, err := g.Do(ctx, "k", req); out <- answer{res, err} }()
	return out
}

// waitQueued returns when n calls wait for the next batch.
func (g *stepped) waitQueued(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { g.mu.Lock(); defer g.mu.Unlock(); return len(g.queuesByKey["k"]) == n },
		5*time.Second, time.Millisecond)
}

func TestABatchIsWhatWasQueued(t *testing.T) {
	t.Parallel()
	g := newStepped(2, 100)
	first := g.call(t.Context(), 1)
	require.Equal(t, []int{1}, <-g.begun, "a single caller does not wait")
	var rest []<-chan answer
	for i := range 3 {
		rest = append(rest, g.call(t.Context(), 10+i))
		g.waitQueued(t, i+1)
	}
	g.finish <- answerDouble
	require.Equal(t, answer{2, nil}, <-first)
	require.Equal(t, []int{10, 11}, <-g.begun, "as many as the weight allows, the oldest first")
	g.finish <- answerDouble
	require.Equal(t, []int{12}, <-g.begun)
	g.finish <- answerDouble
	for i, c := range rest {
		require.Equal(t, answer{20 + 2*i, nil}, <-c)
	}
	require.NoError(t, g.Drain(t.Context()))
	require.Empty(t, g.queuesByKey, "an idle key costs nothing")
}

// One bad call fails alone, however large the batch.
// A connection reads its next request before the previous one is decided.
func TestCallsKeepTheOrderInWhichTheyBegin(t *testing.T) {
	t.Parallel()
	g := newStepped(100, 101)
	waits := []func() (int, error){g.Begin(t.Context(), "k", 0)}
	require.Equal(t, []int{0}, <-g.begun)
	var order []int
	for i := range 100 {
		order = append(order, i+1)
		waits = append(waits, g.Begin(t.Context(), "k", i+1))
	}
	g.finish <- answerDouble
	require.Equal(t, order, <-g.begun)
	g.finish <- answerDouble
	for i, wait := range waits {
		res, err := wait()
		require.NoError(t, err)
		require.Equal(t, 2*i, res)
	}
}

func TestDataErrorsAreRetriedInHalves(t *testing.T) {
	t.Parallel()
	g := New(config(1000), "test", limits(1000), func(_ context.Context, _ string, calls []*Call[int, int]) error {
		if slices.ContainsFunc(calls, func(c *Call[int, int]) bool { return c.Req == 13 }) {
			return errData
		}
		return answerDouble(calls)
	})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			res, err := g.Do(t.Context(), "k", i)
			if i == 13 {
				require.ErrorIs(t, err, errData)
			} else {
				require.NoError(t, err)
				require.Equal(t, 2*i, res)
			}
		})
	}
	wg.Wait()
}

// Pins a batch whose calls all have a key that is refused, and which tries each of them alone.
func TestADataErrorOfTheKeyIsTheAnswerToAllCalls(t *testing.T) {
	t.Parallel()
	g := newStepped(10, 100)
	g.cfg.Errors.IsOfKey = func(key string, err error) bool { return key == "k" && errors.Is(err, errData) }
	one := g.call(t.Context(), 1)
	<-g.begun
	two, three := g.call(t.Context(), 2), g.call(t.Context(), 3)
	g.waitQueued(t, 2)
	g.finish <- answerDouble
	require.NoError(t, (<-one).err)
	require.Len(t, <-g.begun, 2)
	g.finish <- func([]*Call[int, int]) error { return errData }
	require.ErrorIs(t, (<-two).err, errData)
	require.ErrorIs(t, (<-three).err, errData)
}

// Pins a caller who is refused although what refused the call is over.
func TestCallsAreReconsidered(t *testing.T) {
	t.Parallel()
	cfg, decisions := config(1000), 0
	cfg.Reconsider = func(_ context.Context, err error) error {
		if decisions == 1 {
			return nil
		}
		return err
	}
	g := New(cfg, "test", limits(1000), func(context.Context, string, []*Call[int, int]) error {
		decisions++
		return errData
	})
	_, err := g.Do(t.Context(), "k", 1)
	require.ErrorIs(t, err, errData)
	require.Equal(t, 2, decisions)
}

func TestAnUnknownOutcomeIsTheAnswerToAllCalls(t *testing.T) {
	t.Parallel()
	g := newStepped(10, 100)
	one := g.call(t.Context(), 1)
	<-g.begun
	g.finish <- func([]*Call[int, int]) error { return errUnavailable }
	require.ErrorIs(t, (<-one).err, errUnavailable)
}

func TestConflictsAreRetried(t *testing.T) {
	t.Parallel()
	g := newStepped(10, 100)
	one := g.call(t.Context(), 1)
	for range 3 {
		<-g.begun
		g.finish <- func([]*Call[int, int]) error { return errConflict }
	}
	<-g.begun
	g.finish <- answerDouble
	require.Equal(t, answer{2, nil}, <-one)
}

// Calls that a batch leaves undecided go to the head of the next one.
func TestUndecidedCallsComeFirstInTheNextBatch(t *testing.T) {
	t.Parallel()
	g := newStepped(10, 100)
	one := g.call(t.Context(), 1)
	<-g.begun
	two := g.call(t.Context(), 2)
	g.waitQueued(t, 1)
	g.finish <- func([]*Call[int, int]) error { return nil }
	require.Equal(t, []int{1, 2}, <-g.begun)
	g.finish <- answerDouble
	require.Equal(t, []answer{{2, nil}, {4, nil}}, []answer{<-one, <-two})
}

func TestCanceledCallsAreDroppedAndTheQueueIsBounded(t *testing.T) {
	t.Parallel()
	g := newStepped(10, 2)
	one := g.call(t.Context(), 1)
	<-g.begun
	ctx, cancel := context.WithCancel(t.Context())
	gone := g.call(ctx, 2)
	g.waitQueued(t, 1)
	stays := g.call(t.Context(), 3)
	g.waitQueued(t, 2)
	_, err := g.Do(t.Context(), "k", 4)
	require.ErrorIs(t, err, errUnavailable, "two calls wait already")
	cancel()
	require.ErrorIs(t, (<-gone).err, errUnavailable)
	g.finish <- answerDouble
	<-one
	require.Equal(t, []int{3}, <-g.begun, "nothing is decided for a caller that left before")
	g.finish <- answerDouble
	require.Equal(t, answer{6, nil}, <-stays)
}

// Pins queues that count calls and not bytes: 32,768 tickets of 64 KiB are 2 GiB.
func TestTheBytesOfTheQueueAreBounded(t *testing.T) {
	t.Parallel()
	g := newStepped(10, 100) // 1000 bytes may wait
	running := g.call(t.Context(), 2000)
	<-g.begun
	small := g.call(t.Context(), 1)
	g.waitQueued(t, 1)
	large := g.call(t.Context(), 2001)
	g.waitQueued(t, 2)
	_, err := g.Do(t.Context(), "k", 1000)
	require.ErrorIs(t, err, errUnavailable, "800 bytes wait, it has 400")
	g.finish <- func([]*Call[int, int]) error { return nil } // undecided: it waits again
	require.Equal(t, []int{2000, 1, 2001}, <-g.begun)
	largest := g.call(t.Context(), 2002)
	g.waitQueued(t, 1)
	g.finish <- answerDouble
	require.Equal(t, []int{2002}, <-g.begun)
	g.finish <- answerDouble
	for _, c := range []<-chan answer{running, small, large, largest} {
		require.NoError(t, (<-c).err)
	}
	require.NoError(t, g.Drain(t.Context()))
	require.Zero(t, g.waitingBytes, "calls that left the queue do not count")
	_, err = g.Do(t.Context(), "k", 3000)
	require.ErrorIs(t, err, errUnavailable, "it has 1200 bytes by itself")
}

// panicCounter is an Observer.
type panicCounter struct{ atomic.Int32 }

func (*panicCounter) Batch(string, int, time.Duration, time.Duration) {}
func (c *panicCounter) Panic(string)                                  { c.Add(1) }

// A panic in one batch must not end the replica.
func TestAPanicFailsItsBatchOnly(t *testing.T) {
	t.Parallel()
	g := newStepped(10, 100)
	var log bytes.Buffer
	counter := &panicCounter{}
	g.cfg.Log, g.cfg.Observer = slog.New(slog.NewTextHandler(&log, nil)), counter
	one := g.call(t.Context(), 1)
	<-g.begun
	two, three := g.call(t.Context(), 2), g.call(t.Context(), 3)
	g.waitQueued(t, 2)
	g.finish <- func(calls []*Call[int, int]) error { return answerDouble(calls[:calls[0].Req+100]) }
	err := (<-one).err
	require.ErrorContains(t, err, "slice bounds out of range")
	require.True(t, panics.Is(err), "it is internal")
	<-g.begun
	g.finish <- answerDouble
	require.Equal(t, []answer{{4, nil}, {6, nil}}, []answer{<-two, <-three}, "the next batch is decided")
	require.Equal(t, int32(1), counter.Load())
	require.Contains(t, log.String(), "TestAPanicFailsItsBatchOnly", "the stack")
	require.Contains(t, log.String(), "group=test")
}

// Once all of its callers have given up, a batch must hold no connection and no lock.
func TestABatchEndsWithItsLastCaller(t *testing.T) {
	t.Parallel()
	deadlines := make(chan time.Time)
	g := New(config(10), "test", limits(10), func(ctx context.Context, _ string, calls []*Call[int, int]) error {
		at, _ := ctx.Deadline()
		deadlines <- at
		return answerDouble(calls)
	})
	soon, later := time.Now().Add(30*time.Second), time.Now().Add(40*time.Second)
	callsWith := func(deadlines ...time.Time) (calls []*Call[int, int]) {
		for _, d := range deadlines {
			ctx, cancel := context.WithDeadline(t.Context(), d)
			t.Cleanup(cancel)
			calls = append(calls, newCall[int, int](ctx, 0, 0))
		}
		return calls
	}
	unlimited := newCall[int, int](t.Context(), 0, 0)
	for name, test := range map[string]struct {
		calls []*Call[int, int]
		want  time.Time
	}{
		"the last one's deadline":    {callsWith(soon, later, soon), later},
		"no longer than the timeout": {callsWith(soon, time.Now().Add(time.Hour)), time.Now().Add(time.Minute)},
		"one without a deadline":     {append(callsWith(soon), unlimited), time.Now().Add(time.Minute)},
	} {
		go g.runBatch("k", test.calls)
		require.WithinDuration(t, test.want, <-deadlines, 5*time.Second, name)
	}
}

// A batch has a context of its own: without a link, the SQL of grouped calls would be in no caller's trace.
func TestABatchIsInItsCallersTraces(t *testing.T) {
	t.Parallel()
	seen := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(seen)).Tracer("test")
	g := newStepped(10, 100)
	first := g.call(t.Context(), 1)
	<-g.begun
	var calls []<-chan answer
	for i := range 2 {
		ctx, span := tracer.Start(t.Context(), "call")
		t.Cleanup(func() { span.End() })
		calls = append(calls, g.call(ctx, 2+i))
		g.waitQueued(t, i+1)
	}
	g.finish <- answerDouble
	<-first
	<-g.begun
	g.finish <- answerDouble
	for _, c := range calls {
		<-c
	}
	require.NoError(t, g.Drain(t.Context()))
	spans := seen.Ended()
	require.Len(t, spans, 1, "untraced calls make none")
	require.Equal(t, "group test", spans[0].Name())
	require.True(t, spans[0].Parent().IsValid())
	require.Len(t, spans[0].Links(), 1)
}
