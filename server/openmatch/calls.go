package openmatch

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/lattice-director/director/internal/base/fault"
)

// maxProbes bounds the streams that watch the health: they need no credentials.
const maxProbes = 64

// tapCall authenticates a call when its headers have arrived, and sets the deadlines that interceptors cannot: of
// receiving the request, and of sending to a client that does not read. It must not block: all calls of a connection
// wait for it.
func (s *Server) tapCall(ctx context.Context, info *tap.Info) (context.Context, error) {
	if err := s.admitOrProbe(ctx, info.FullMethodName); err != nil {
		method := "unknown" // not the given name: callers may invent any number
		if _, ours := s.methodsByName[info.FullMethodName]; ours {
			method = info.FullMethodName
		}
		// No interceptor runs for a call that is refused here, so it is counted here.
		return ctx, s.countEnd(ctx, method, time.Now(), err)
	}
	if !s.isLasting(info.FullMethodName) {
		//nolint:gosec // The call ends its context, and with it this one.
		bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
		_ = cancel
		return bounded, nil
	}
	ctx, cut := context.WithCancel(ctx)
	return context.WithValue(ctx, cutKey{}, cut), nil
}

// admitOrProbe authenticates a call, and counts a stream that watches the health.
func (s *Server) admitOrProbe(ctx context.Context, method string) error {
	if err := s.admitCall(ctx, method); err != nil {
		return err
	}
	if method == healthpb.Health_Watch_FullMethodName {
		return s.countProbe(ctx)
	}
	return nil
}

// countProbe counts a health stream until it ends.
func (s *Server) countProbe(ctx context.Context) error {
	// The counter is raised before it is compared, so that two streams that begin at once cannot both take the last
	// place.
	if s.healthStreams.Add(1) > maxProbes {
		s.healthStreams.Add(-1)
		return status.Errorf(codes.ResourceExhausted, "%d clients already watch the health of this replica", maxProbes)
	}
	context.AfterFunc(ctx, func() { s.healthStreams.Add(-1) })
	return nil
}

// isLasting reports whether a call has no end by itself: all streams but queries.
func (s *Server) isLasting(method string) bool {
	return s.methodsByName[method].IsServerStream && serviceOf(method) != "query"
}

// sendLasting sends on a lasting stream, and cancels the call after the send timeout: messages that the caller does not
// take occupy this replica's memory.
func (s *Server) sendLasting(ctx context.Context, send func() error) error {
	if cut, ok := ctx.Value(cutKey{}).(context.CancelFunc); ok {
		defer time.AfterFunc(s.options.sendTimeout, cut).Stop()
	}
	return send()
}

// interceptUnary is the interceptor of calls with one answer.
func (s *Server) interceptUnary(ctx context.Context, r any, info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler) (answer any, err error) {
	defer s.observeCall(ctx, info.FullMethod, &err)()
	if err := s.checkHere(ctx); err != nil {
		return nil, err
	}
	conn := connOf(ctx)
	// The interceptor of a call with one answer runs when the request has arrived.
	conn.beginCall()
	defer conn.endCall()
	if answer, err = next(ctx, r); err != nil {
		return nil, err
	}
	return s.sendQueues.queueAnswer(ctx, answer)
}

// interceptStream is the interceptor of calls that answer with a stream.
func (s *Server) interceptStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) (err error) {
	ctx := stream.Context()
	// Only lasting calls have the key, and end when the replica stops; it waits for queries.
	if cut, ok := ctx.Value(cutKey{}).(context.CancelFunc); ok {
		defer context.AfterFunc(s.streamsContext, cut)()
	}
	defer s.observeCall(ctx, info.FullMethod, &err)()
	if err := s.checkHere(ctx); err != nil {
		return err
	}
	conn := connOf(ctx)
	// A stream without its request is no call of the connection yet: a server that stops does not wait for one.
	hasBegun := false
	receiving := newReceivingStream(stream, func() { hasBegun = true; conn.beginCall() })
	defer func() {
		if hasBegun {
			conn.endCall()
		}
	}()
	err = next(srv, queueingStream{receiving, s.sendQueues})
	// This replica has cut the stream, and not its caller: Unavailable has the client try another replica.
	if err != nil && ctx.Err() != nil && s.streamsContext.Err() != nil {
		return status.Error(codes.Unavailable, "this replica is stopping: retry, another one answers")
	}
	return err
}

// checkHere refuses a call while another cell serves the universe, whose address for gRPC is in the trailer.
func (s *Server) checkHere(ctx context.Context) error {
	if s.options.CheckHere == nil {
		return nil
	}
	err := s.options.CheckHere(s.options.Universe)
	if cell := fault.CellOf(err); cell != nil && cell.Addresses[fault.ListenerGRPC] != "" {
		// An error means that the call has ended.
		_ = grpc.SetTrailer(ctx, metadata.Pairs("director-cell", cell.Addresses[fault.ListenerGRPC]))
	}
	return err
}

// observeCall counts an authenticated call. The caller defers the returned function, which counts the end, turns a
// panic into an error, so that it ends this call only, and replaces err with the error for the client.
func (s *Server) observeCall(ctx context.Context, method string, err *error) (ended func()) {
	began, open := time.Now(), s.callMetrics.openCalls.WithLabelValues(nameOf(method))
	open.Inc()
	return func() {
		open.Dec()
		if p := recover(); p != nil { //nolint:revive // the caller defers this function
			*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		*err = s.countEnd(ctx, method, began, *err)
	}
}

// countEnd counts a call that has ended, and returns the error for the client.
func (s *Server) countEnd(ctx context.Context, method string, began time.Time, err error) error {
	internal, answer := statusOf(err)
	s.callMetrics.callSeconds.WithLabelValues(nameOf(method),
		status.Code(answer).String()).Observe(time.Since(began).Seconds())
	// Other errors are answers that callers were meant to get.
	if internal {
		s.options.Log.LogAttrs(ctx, slog.LevelError, "a call failed", slog.String("call", path.Base(method)),
			slog.Any("error", err))
	}
	return answer
}

func nameOf(method string) string { return strings.TrimPrefix(method, "/") }
