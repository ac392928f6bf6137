package openmatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// calls counts calls, whichever way they come.
type calls struct {
	open *prometheus.GaugeVec     // by method
	took *prometheus.HistogramVec // by method and code
}

func (s *Server) makeCalls() error {
	s.calls = &calls{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "director_openmatch_calls_open", Help: "Calls of Open Match clients under way, those that watch included.",
		}, []string{"method"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "director_openmatch_call_seconds", Help: "Calls of Open Match clients, by the code they ended with and how long they took.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30},
		}, []string{"method", "code"}),
	}
	if s.options.Metrics == nil {
		return nil
	}
	return errors.Join(s.options.Metrics.Register(s.calls.open), s.options.Metrics.Register(s.calls.took))
}

// maxProbes bounds how many may watch the health: they need show nothing.
const maxProbes = 64

// tap stands before calls of which nothing but the headers has come. It lets them in, and bounds what interceptors cannot:
// taking in the request, and sending to who does not read. All calls of a connection wait for it: it waits for nothing.
func (s *Server) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	err := s.admit(ctx, info.FullMethodName)
	if err == nil && info.FullMethodName == healthpb.Health_Watch_FullMethodName {
		err = s.takeProbe(ctx)
	}
	if err != nil {
		method := "unknown" // callers may make up others
		if _, ours := s.methods[info.FullMethodName]; ours {
			method = info.FullMethodName
		}
		return ctx, s.count(ctx, method, time.Now(), err)
	}
	if !s.lasts(info.FullMethodName) {
		bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout) //nolint:gosec // The call ends its context, and with it this one.
		_ = cancel
		return bounded, nil
	}
	ctx, cut := context.WithCancel(ctx)
	return context.WithValue(ctx, cutKey{}, cut), nil
}

// takeProbe counts one until its call ends.
func (s *Server) takeProbe(ctx context.Context) error {
	if s.probes.Add(1) > maxProbes {
		s.probes.Add(-1)
		return status.Errorf(codes.ResourceExhausted, "%d watch the health of this replica already", maxProbes)
	}
	context.AfterFunc(ctx, func() { s.probes.Add(-1) })
	return nil
}

// lasts tells which calls go on until somebody ends them: all streams but queries.
func (s *Server) lasts(method string) bool {
	return s.methods[method].IsServerStream && serviceOf(method) != "query"
}

// cutKey is for what ends a lasting call: when this replica stops, or its caller does not take what is sent.
type cutKey struct{}

// send sends on a lasting stream, and ends its call where that takes too long: what its caller does not take is kept here.
func (s *Server) send(ctx context.Context, send func() error) error {
	if cut, ok := ctx.Value(cutKey{}).(context.CancelFunc); ok {
		defer time.AfterFunc(s.options.taking, cut).Stop()
	}
	return send()
}

// unary stands before calls that are answered once.
func (s *Server) unary(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	defer s.observe(ctx, info.FullMethod, &err)()
	if answer, err = next(ctx, r); err != nil {
		return nil, err
	}
	return s.queues.queued(ctx, answer)
}

// stream stands before calls that are answered bit by bit.
func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	ctx := stream.Context()
	if cut, ok := ctx.Value(cutKey{}).(context.CancelFunc); ok {
		defer context.AfterFunc(s.stopping, cut)()
	}
	defer s.observe(ctx, info.FullMethod, &err)()
	err = next(srv, queueingStream{stream, s.queues})
	if err != nil && ctx.Err() != nil && s.stopping.Err() != nil {
		return status.Error(codes.Unavailable, "this replica stops: call again, another one answers")
	}
	return err
}

// observe counts a call that was let in. What it returns is to be deferred: it counts the end, makes a panic an error, which
// keeps what one call stumbles over from ending all others, and leaves in err what the caller is told.
func (s *Server) observe(ctx context.Context, method string, err *error) (ended func()) {
	began, open := time.Now(), s.calls.open.WithLabelValues(nameOf(method))
	open.Inc()
	return func() {
		open.Dec()
		if p := recover(); p != nil { //nolint:revive // It is deferred where it is called.
			*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		*err = s.count(ctx, method, began, *err)
	}
}

// count counts a call that has ended, and gives what the caller is told of its error.
func (s *Server) count(ctx context.Context, method string, began time.Time, err error) error {
	unforeseen, told := statusOf(err)
	s.calls.took.WithLabelValues(nameOf(method), status.Code(told).String()).Observe(time.Since(began).Seconds())
	if unforeseen {
		s.options.Log.LogAttrs(ctx, slog.LevelError, "a call failed", slog.String("call", path.Base(method)), slog.Any("error", err))
	}
	return told
}

func nameOf(method string) string { return strings.TrimPrefix(method, "/") }
