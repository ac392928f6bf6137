package openmatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/openmatch/cycle"
)

// Pins an error that shows internals to the caller, or has the wrong code.
func TestErrorsOfCallers(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp 10.1.2.3: hunter2")
	for name, c := range map[string]struct {
		err  error
		code codes.Code
		text string
	}{
		"refused": {fmt.Errorf("wrapped: %w", invalidError(".pool is required")), codes.InvalidArgument,
			".pool is required"},
		"not there": {&fault.Error{Kind: fault.NotFound, Code: "ticket_unknown", Detail: "Ticket id: x not found"},
			codes.NotFound, "Ticket id: x not found"},
		"in a match": {&fault.Error{Kind: fault.Conflict, Code: "matched", Detail: "it is"},
			codes.FailedPrecondition, "it is"},
		"a player": {&fault.Error{Kind: fault.Conflict, Code: "player_waits", Detail: "waits"},
			codes.AlreadyExists, "waits"},
		"away": {&fault.Error{Kind: fault.Unavailable, Detail: "the database cannot be reached", Err: cause},
			codes.Unavailable, "the database cannot be reached"},
		"of no kind": {&fault.Error{Detail: "what?"}, codes.Internal, "what?"},
		"fetching": {&cycle.Error{MMFErr: errors.New("boo")}, codes.Unknown,
			"error(s) in FetchMatches call. syncErr=[<nil>], mmfErr=[boo]"},
		"fetching, away": {&cycle.Error{SyncErr: &fault.Error{Kind: fault.NotFound, Code: "c", Detail: "d"}},
			codes.Unknown, "error(s) in FetchMatches call. syncErr=[c: d], mmfErr=[<nil>]"},
		"too late": {fmt.Errorf("wrapped: %w", context.DeadlineExceeded), codes.DeadlineExceeded,
			"the call was not decided in time"},
		"gone": {context.Canceled, codes.Canceled, "the caller is gone"},
		"a status": {status.Error(codes.Aborted, "the caller watches no longer"), codes.Aborted,
			"the caller watches no longer"},
		"a bug": {cause, codes.Internal, "internal error"},
	} {
		unforeseen, told := statusOf(c.err)
		require.Equal(t, c.code, status.Code(told), name)
		require.Equal(t, c.text, status.Convert(told).Message(), name)
		require.Equal(t, name == "a bug", unforeseen, name)
	}
	for kind := fault.NotFound; kind <= fault.Unavailable; kind++ {
		require.Contains(t, statusCodes, kind)
	}
}

// Pins a panic in one call that ends others, is shown to the caller, or is not logged.
func TestACallThatPanics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	s := &Server{options: Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Metrics: registry}.withDefaults(),
		access: &access{isOpenToAll: true}}
	require.NoError(t, s.makeMetrics())
	info := &grpc.UnaryServerInfo{FullMethod: "/openmatch.FrontendService/GetTicket"}
	_, err := s.interceptUnary(t.Context(), nil, info, func(context.Context, any) (any, error) { panic("hunter2") })
	require.Equal(t, errInternal, err)
	require.Contains(t, log.String(), "hunter2")
	require.Contains(t, log.String(), "GetTicket")
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 2)
	require.Contains(t, families[0].String()+families[1].String(), "Internal")
}

// Pins a player that gave up by its deadline and got Aborted, because the answer arrived before its own timer had run.
func TestAWatchThatEnds(t *testing.T) {
	t.Parallel()
	require.Equal(t, codes.DeadlineExceeded, status.Code(watchEnded(context.DeadlineExceeded)))
	require.Equal(t, codes.Aborted, status.Code(watchEnded(context.Canceled)))
}
