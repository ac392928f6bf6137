package functions

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
)

// The function gets the profile as the caller sent it, and its matches are proposed as it sent them.
func TestRunGRPC(t *testing.T) {
	t.Parallel()
	profile := &pb.MatchProfile{
		Name: "duel", Pools: []*pb.Pool{{Name: "all", CreatedAfter: &timestamppb.Timestamp{Seconds: 5, Nanos: 7}}},
		Extensions: map[string]*anypb.Any{"x": functionstest.UnknownAny()},
	}
	proposal := &pb.Match{
		MatchId: "m", MatchProfile: "duel", MatchFunction: "f", AllocateGameserver: true,
		Tickets: []*pb.Ticket{{Id: "t", Extensions: map[string]*anypb.Any{"x": functionstest.UnknownAny()}}},
	}
	at := functionstest.ServeMMF(t, func(r *pb.RunRequest, stream functionstest.RunServer) error {
		if !proto.Equal(profile, r.GetProfile()) {
			return errors.New("the profile came as another")
		}
		return stream.Send(&pb.RunResponse{Proposal: proposal})
	})
	var got []*pb.Match
	require.NoError(t, makeFunctions(t).callFunction(t.Context(), at, profile, func(m *pb.Match) error {
		got = append(got, m)
		return nil
	}))
	require.Len(t, got, 1)
	require.True(t, proto.Equal(proposal, got[0]))
}

// Proposals are passed on while the function runs: an evaluator may accept before it has ended.
func TestRunGRPCStreams(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	at := functionstest.ServeMMF(t, func(r *pb.RunRequest, stream functionstest.RunServer) error {
		if err := functionstest.ProposingCount(1)(r, stream); err != nil {
			return err
		}
		select {
		case <-seen:
			return nil
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	})
	require.NoError(t, makeFunctions(t).callFunction(t.Context(), at, nil, func(*pb.Match) error {
		close(seen)
		return nil
	}))
}

func TestRunReturnsTheFunctionsError(t *testing.T) {
	t.Parallel()
	at := functionstest.ServeMMF(t, func(r *pb.RunRequest, stream functionstest.RunServer) error {
		if err := functionstest.ProposingCount(2)(r, stream); err != nil {
			return err
		}
		return status.Error(codes.DataLoss, "no idea whom to match")
	})
	ids, err := runs(t.Context(), makeFunctions(t), at)
	require.ErrorContains(t, err, "no idea whom to match")
	require.Equal(t, codes.DataLoss, status.Code(err))
	require.Equal(t, []string{"0", "1"}, ids)
}

func TestRunRefusesOtherTypes(t *testing.T) {
	t.Parallel()
	_, err := runs(t.Context(), makeFunctions(t), &pb.FunctionConfig{Host: "127.0.0.1", Port: 1, Type: 7})
	require.ErrorContains(t, err, "provided match function type is not supported")
}

// A restarted function is called again at once, not after the backoff of failed reconnects.
func TestRunFindsARestartedFunction(t *testing.T) {
	t.Parallel()
	f := makeFunctions(t)
	register := func(s *grpc.Server) {
		pb.RegisterMatchFunctionServer(s, functionstest.MMF{Function: functionstest.ProposingCount(3)})
	}
	l := functionstest.Listen(t, "127.0.0.1:0")
	at, stop := functionstest.Serve(t, l, register)
	for range 2 {
		ids, err := runs(t.Context(), f, at)
		require.NoError(t, err)
		require.Len(t, ids, 3)

		stop()
		_, err = runs(t.Context(), f, at)
		require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)

		_, stop = functionstest.Serve(t, functionstest.Listen(t, l.Addr().String()), register)
	}
}

// A call waits for a function that restarts right now.
func TestRunWaitsForARestart(t *testing.T) {
	t.Parallel()
	register := func(s *grpc.Server) {
		pb.RegisterMatchFunctionServer(s, functionstest.MMF{Function: functionstest.ProposingCount(1)})
	}
	l := functionstest.Listen(t, "127.0.0.1:0")
	at, stop := functionstest.Serve(t, l, register)
	f, dialled := makeFunctions(t), make(chan struct{}, 1000)
	f.functionConnections.dialer.outbound.Allows = func(string, netip.Addr) bool {
		dialled <- struct{}{}
		return true
	}
	_, err := runs(t.Context(), f, at)
	require.NoError(t, err)
	<-dialled
	stop()
	called := make(chan error, 1)
	go func() {
		_, err := runs(t.Context(), f, at)
		called <- err
	}()
	<-dialled // in vain
	<-dialled // and again
	functionstest.Serve(t, functionstest.Listen(t, l.Addr().String()), register)
	require.NoError(t, <-called)
}

// A call does not wait for an address that never accepted a connection: all callers of the cycle would wait.
func TestRunDoesNotWaitForAnUnknownFunction(t *testing.T) {
	t.Parallel()
	l := functionstest.Listen(t, "127.0.0.1:0")
	require.NoError(t, l.Close())
	f := makeFunctions(t)
	f.functionConnections.restartWait = time.Hour
	for range 3 {
		_, err := runs(t.Context(), f, functionstest.ConfigOf(l.Addr()))
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.ErrorContains(t, causeOf(err), "connection refused")
	}
}

// All addresses of a name are tried, not only the first: here one of localhost's addresses refuses connections.
func TestRunByName(t *testing.T) {
	t.Parallel()
	at := functionstest.ServeMMF(t, functionstest.ProposingCount(1))
	at.Host = "localhost"
	_, err := runs(t.Context(), makeFunctions(t), at)
	require.NoError(t, err)
}

// A call that has delivered proposals is not repeated: they would arrive twice.
func TestRunDoesNotRepeatProposals(t *testing.T) {
	t.Parallel()
	calls := 0
	at := functionstest.ServeMMF(t, func(r *pb.RunRequest, stream functionstest.RunServer) error {
		calls++
		if err := functionstest.ProposingCount(1)(r, stream); err != nil {
			return err
		}
		return status.Error(codes.Unavailable, "gone")
	})
	ids, err := runs(t.Context(), makeFunctions(t), at)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Len(t, ids, 1)
	require.Equal(t, 1, calls)
}

// A function that hangs delays its caller until the context ends, and its call is canceled.
func TestRunEndsWithTheContext(t *testing.T) {
	t.Parallel()
	cut := errors.New("ran longer than it may")
	for name, hang := range map[string]func(*testing.T, chan<- struct{},
		chan<- struct{}) *pb.FunctionConfig{"grpc": hangs, "rest": hangsREST} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called, gone := signal(), signal()
			at := hang(t, called, gone)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-called
				cancel(cut)
			}()
			_, err := runs(ctx, makeFunctions(t), at)
			require.Equal(t, cut, err)
			<-gone
		})
	}
}

func signal() chan struct{} { return make(chan struct{}, 1) }

func hangs(t *testing.T, called, gone chan<- struct{}) *pb.FunctionConfig {
	return functionstest.ServeMMF(t, func(_ *pb.RunRequest, stream functionstest.RunServer) error {
		called <- struct{}{}
		<-stream.Context().Done()
		gone <- struct{}{}
		return nil
	})
}

// The same for a host that accepts the connection and sends nothing.
func TestRunEndsWithTheContextBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	l := functionstest.Listen(t, "127.0.0.1:0")
	defer l.Close()
	for _, kind := range []pb.FunctionConfig_Type{pb.FunctionConfig_GRPC, pb.FunctionConfig_REST} {
		at := functionstest.ConfigOf(l.Addr())
		at.Type = kind
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := runs(ctx, makeFunctions(t), at)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

// An error of propose ends the call and cancels the function.
func TestRunEndsWithARefusedProposal(t *testing.T) {
	t.Parallel()
	gone := signal()
	at := functionstest.ServeMMF(t, func(r *pb.RunRequest, stream functionstest.RunServer) error {
		defer func() { gone <- struct{}{} }()
		for stream.Context().Err() == nil {
			if err := functionstest.ProposingCount(100)(r, stream); err != nil {
				return err
			}
		}
		return nil
	})
	full := errors.New("no more")
	n := 0
	err := makeFunctions(t).callFunction(t.Context(), at, nil, func(*pb.Match) error {
		if n++; n == 10 {
			return full
		}
		return nil
	})
	require.Equal(t, full, err)
	require.Equal(t, 10, n)
	<-gone
}

func TestRunRefusesAMessageThatIsTooLarge(t *testing.T) {
	t.Parallel()
	at := functionstest.ServeMMF(t, func(_ *pb.RunRequest, stream functionstest.RunServer) error {
		return stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: string(make([]byte, maxMessage))}})
	})
	_, err := runs(t.Context(), makeFunctions(t), at)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}

// The caller of an address that is not allowed must learn nothing else. Over gRPC the refusal is a failed connection,
// whose text would contain the resolved address.
func TestRunRefusesAddresses(t *testing.T) {
	t.Parallel()
	f := makeFunctions(t, "0.0.0.0/0", "::/0")
	for _, host := range []string{"169.254.169.254", "0.0.0.0", "::ffff:169.254.169.254", "fe80::1"} {
		for _, kind := range []pb.FunctionConfig_Type{pb.FunctionConfig_GRPC, pb.FunctionConfig_REST} {
			start := time.Now()
			_, err := runs(t.Context(), f, &pb.FunctionConfig{Host: host, Port: 80, Type: kind})
			require.Equal(t, errNotAllowed, causeOf(err), "%s %s", host, kind)
			require.Less(t, time.Since(start), maxRestartWait, "without a wait for a restart")
		}
	}
	_, err := runs(t.Context(), makeFunctions(t), functionstest.Config("192.0.2.1", 80))
	require.Equal(t, errNotAllowed, causeOf(err))
}

// causeOf returns the cause of an error, which only the log has.
func causeOf(err error) error {
	if unreachable, ok := errors.AsType[*unreachableError](err); ok {
		return unreachable.cause
	}
	return err
}
