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
	"google.golang.org/grpc/status"
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

// unary stands before calls that are answered once.
func (s *Server) unary(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	err = s.observe(ctx, info.FullMethod, func() (err error) {
		answer, err = next(ctx, r)
		return err
	})
	return answer, err
}

// stream stands before calls that are answered bit by bit.
func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, cancel := s.streamContext(stream.Context(), info.FullMethod)
	defer cancel()
	return s.observe(ctx, info.FullMethod, func() error {
		err := next(srv, bounded{stream, ctx})
		if err != nil && ctx.Err() != nil && s.stopping.Err() != nil {
			return status.Error(codes.Unavailable, "this replica stops: call again, another one answers")
		}
		return err
	})
}

// streamContext bounds queries as any call. Other streams last, and end when the replica has to.
func (s *Server) streamContext(ctx context.Context, method string) (context.Context, context.CancelFunc) {
	if serviceOf(method) == "query" {
		return context.WithTimeout(ctx, s.options.CallTimeout)
	}
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(s.stopping, cancel)
	return ctx, func() {
		unhook()
		cancel()
	}
}

// bounded is a stream with a context that ends earlier.
type bounded struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (b bounded) Context() context.Context { return b.ctx }

// observe makes a call that is let in, counts it, and gives what the caller is told of its error.
func (s *Server) observe(ctx context.Context, method string, call func() error) error {
	name := strings.TrimPrefix(method, "/")
	began, open := time.Now(), s.calls.open.WithLabelValues(name)
	open.Inc()
	defer open.Dec()
	err := s.admit(ctx, method)
	if err == nil {
		err = protect(call)
	}
	unforeseen, told := statusOf(err)
	s.calls.took.WithLabelValues(name, status.Code(told).String()).Observe(time.Since(began).Seconds())
	if unforeseen {
		s.options.Log.LogAttrs(ctx, slog.LevelError, "a call failed", slog.String("call", path.Base(method)), slog.Any("error", err))
	}
	return told
}

// protect keeps what one call stumbles over from ending all others.
func protect(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}
