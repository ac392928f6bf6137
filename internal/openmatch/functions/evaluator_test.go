package functions

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// Judge is an evaluator of a test.
type Judge functionstest.Judge

func (j Judge) OverGRPC(t *testing.T) string { return functionstest.Judge(j).OverGRPC(t) }

func (j Judge) OverHTTP(t *testing.T) string { return functionstest.Judge(j).OverHTTP(t) }

// overBoth runs a test of an evaluator over gRPC and over HTTP.
func (j Judge) overBoth(t *testing.T, test func(t *testing.T, e cycle.Evaluator)) {
	for name, target := range map[string]string{"grpc": j.OverGRPC(t), "http": j.OverHTTP(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := must.Get(makeFunctions(t).newEvaluator(target))(t)
			test(t, e)
		})
	}
}

func sent(t *testing.T, m *pb.Match) cycle.Proposal {
	encoded := must.Get(proto.Marshal(m))(t)
	return cycle.Proposal{ID: m.GetMatchId(), Match: encoded}
}

// all are proposals that come at once.
func all(t *testing.T, ids ...string) <-chan cycle.Proposal {
	in := make(chan cycle.Proposal, len(ids))
	for _, id := range ids {
		in <- sent(t, &pb.Match{MatchId: id, Tickets: []*pb.Ticket{{Id: "t" + id}}})
	}
	close(in)
	return in
}

// acceptsTickets accepts each match under the id of its ticket.
func acceptsTickets(shown func() (*pb.Match, error), accept func(string) error) error {
	for {
		m, err := shown()
		if m == nil || err != nil {
			return err
		}
		if err := accept(m.GetTickets()[0].GetId()); err != nil {
			return err
		}
	}
}

// The evaluator gets complete matches, and its answers arrive in their order.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	Judge(acceptsTickets).overBoth(t, func(t *testing.T, e cycle.Evaluator) {
		for range 3 { // cycles
			var accepted []string
			require.NoError(t, e.Evaluate(t.Context(), all(t, "a", "b", "c"), func(id string) error {
				accepted = append(accepted, id)
				return nil
			}))
			require.Equal(t, []string{"ta", "tb", "tc"}, accepted)
		}
	})
}

// The evaluator may accept a match before all proposals have arrived.
func TestEvaluateStreams(t *testing.T) {
	t.Parallel()
	Judge(acceptsTickets).overBoth(t, func(t *testing.T, e cycle.Evaluator) {
		in := make(chan cycle.Proposal, 1)
		in <- sent(t, &pb.Match{MatchId: "first", Tickets: []*pb.Ticket{{Id: "first"}}})
		var accepted []string
		require.NoError(t, e.Evaluate(t.Context(), in, func(id string) error {
			accepted = append(accepted, id)
			if id == "first" {
				in <- sent(t, &pb.Match{MatchId: "second", Tickets: []*pb.Ticket{{Id: "second"}}})
				close(in)
			}
			return nil
		}))
		require.Equal(t, []string{"first", "second"}, accepted)
	})
}

func TestEvaluateReturnsTheEvaluatorsError(t *testing.T) {
	t.Parallel()
	Judge(func(shown func() (*pb.Match, error), _ func(string) error) error {
		if _, err := shown(); err != nil {
			return err
		}
		return status.Error(codes.DataLoss, "cannot decide")
	}).overBoth(t, func(t *testing.T, e cycle.Evaluator) {
		err := e.Evaluate(t.Context(), all(t, "a", "b"), func(string) error { return nil })
		require.ErrorContains(t, err, "cannot decide")
		require.Equal(t, codes.DataLoss, status.Code(err))
	})
}

// An evaluator may end before it has all proposals.
func TestEvaluateEndsWithTheEvaluator(t *testing.T) {
	t.Parallel()
	Judge(func(func() (*pb.Match, error), func(string) error) error { return nil }).overBoth(t,
		func(t *testing.T, e cycle.Evaluator) {
			require.NoError(t, e.Evaluate(t.Context(), make(chan cycle.Proposal), func(string) error { return nil }))
		})
}

// An evaluator that hangs, or accepts for ever, ends with the cycle.
func TestEvaluateEndsWithTheContext(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 2)
	Judge(func(shown func() (*pb.Match, error), _ func(string) error) error {
		called <- struct{}{}
		for {
			if m, err := shown(); m == nil || err != nil {
				return err
			}
		}
	}).overBoth(t, func(t *testing.T, e cycle.Evaluator) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-called
			cancel()
		}()
		require.Error(t, e.Evaluate(ctx, make(chan cycle.Proposal), func(string) error { return nil }))
	})
}

// The error of accept, such as an unknown match, ends the evaluation and is returned unchanged.
func TestEvaluateEndsWithARefusedAnswer(t *testing.T) {
	t.Parallel()
	Judge(acceptsTickets).overBoth(t, func(t *testing.T, e cycle.Evaluator) {
		refused := errors.New("no such match")
		require.Equal(t, refused, e.Evaluate(t.Context(), all(t, "a", "b", "c"), func(string) error { return refused }))
	})
}

func TestEvaluateWithoutProposals(t *testing.T) {
	t.Parallel()
	Judge(acceptsTickets).overBoth(t, func(t *testing.T, e cycle.Evaluator) {
		require.NoError(t, e.Evaluate(t.Context(), all(t),
			func(string) error { return errors.New("nothing to accept") }))
	})
}

func TestEvaluateOfAnUnreachableEvaluator(t *testing.T) {
	t.Parallel()
	l := functionstest.Listen(t, "127.0.0.1:0")
	l.Close()
	for _, scheme := range []string{"grpc://", "http://"} {
		e, err := makeFunctions(t).newEvaluator(scheme + l.Addr().String())
		require.NoError(t, err)
		require.ErrorContains(t, e.Evaluate(t.Context(), all(t, "a"), nil), "connection refused")
	}
}

// A failed connection reconnects after a backoff, for which the next cycle must not wait.
func TestEvaluateFindsAnEvaluatorThatWasUnreachable(t *testing.T) {
	t.Parallel()
	l := functionstest.Listen(t, "127.0.0.1:0")
	require.NoError(t, l.Close())
	e, err := makeFunctions(t).newEvaluator("grpc://" + l.Addr().String())
	require.NoError(t, err)
	require.Error(t, e.Evaluate(t.Context(), all(t, "a"), nil))
	functionstest.Serve(t, functionstest.Listen(t, l.Addr().String()),
		func(s *grpc.Server) { pb.RegisterEvaluatorServer(s, functionstest.GRPCJudge{Judge: acceptsTickets}) })
	require.NoError(t, e.Evaluate(t.Context(), all(t, "a"), func(string) error { return nil }))
}

func TestEvaluateFindsARestartedEvaluator(t *testing.T) {
	t.Parallel()
	register := func(s *grpc.Server) { pb.RegisterEvaluatorServer(s, functionstest.GRPCJudge{Judge: acceptsTickets}) }
	l := functionstest.Listen(t, "127.0.0.1:0")
	_, stop := functionstest.Serve(t, l, register)
	e, err := makeFunctions(t).newEvaluator("grpc://" + l.Addr().String())
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, e.Evaluate(t.Context(), all(t, "a"), func(string) error { return nil }))
		stop()
		_, stop = functionstest.Serve(t, functionstest.Listen(t, l.Addr().String()), register)
	}
}

// An evaluator that restarts during a cycle, before it has accepted a match, gets all proposals again.
func TestEvaluateSendsAllProposalsAgain(t *testing.T) {
	t.Parallel()
	l := functionstest.Listen(t, "127.0.0.1:0")
	half := signal()
	_, stop := functionstest.Serve(t, l, func(s *grpc.Server) {
		pb.RegisterEvaluatorServer(s, functionstest.GRPCJudge{Judge: func(shown func() (*pb.Match, error),
			_ func(string) error) error {
			for n := 0; ; n++ {
				if n == 2 {
					half <- struct{}{}
				}
				if _, err := shown(); err != nil {
					return err
				}
			}
		}})
	})
	in := make(chan cycle.Proposal, 3)
	for _, id := range []string{"a", "b"} {
		in <- sent(t, &pb.Match{MatchId: id, Tickets: []*pb.Ticket{{Id: id}}})
	}
	e, err := makeFunctions(t).newEvaluator("grpc://" + l.Addr().String())
	require.NoError(t, err)
	var accepted []string
	evaluated := make(chan error, 1)
	go func() {
		evaluated <- e.Evaluate(t.Context(), in, func(id string) error {
			accepted = append(accepted, id)
			return nil
		})
	}()
	<-half
	stop()
	functionstest.Serve(t, functionstest.Listen(t, l.Addr().String()),
		func(s *grpc.Server) { pb.RegisterEvaluatorServer(s, functionstest.GRPCJudge{Judge: acceptsTickets}) })
	in <- sent(t, &pb.Match{MatchId: "c", Tickets: []*pb.Ticket{{Id: "c"}}})
	close(in)
	require.NoError(t, <-evaluated)
	require.Equal(t, []string{"a", "b", "c"}, accepted)
}

// Over gRPC the evaluator gets a match with all its unknown types. JSON cannot express an Any of an unknown type: that
// match is skipped, and the cycle continues.
func TestEvaluateUnknownAny(t *testing.T) {
	t.Parallel()
	strange := &pb.Match{MatchId: "strange", Tickets: []*pb.Ticket{{Id: "s"}},
		Extensions: map[string]*anypb.Any{"x": functionstest.UnknownAny()}}
	for scheme, expected := range map[string][]string{"grpc": {"s", "p"}, "http": {"p"}} {
		sees := Judge(func(shown func() (*pb.Match, error), accept func(string) error) error {
			return acceptsTickets(func() (*pb.Match, error) {
				m, err := shown()
				if m.GetMatchId() == "strange" && !proto.Equal(m, strange) {
					return nil, errors.New("came as another")
				}
				return m, err
			}, accept)
		})
		target := map[string]func(*testing.T) string{"grpc": sees.OverGRPC, "http": sees.OverHTTP}[scheme](t)
		e, err := makeFunctions(t).newEvaluator(target)
		require.NoError(t, err)
		in := make(chan cycle.Proposal, 2)
		in <- sent(t, strange)
		in <- sent(t, &pb.Match{MatchId: "plain", Tickets: []*pb.Ticket{{Id: "p"}}})
		close(in)
		var accepted []string
		require.NoError(t, e.Evaluate(t.Context(), in, func(id string) error {
			accepted = append(accepted, id)
			return nil
		}))
		require.Equal(t, expected, accepted)
	}
}

func TestEvaluatorAddress(t *testing.T) {
	t.Parallel()
	f := makeFunctions(t)
	e, err := f.newEvaluator("")
	require.NoError(t, err)
	require.Nil(t, e)
	for _, target := range []string{"grpc://evaluator.example:50508", "grpcs://evaluator.example:50508",
		"http://[::1]:51508", "https://evaluator.example:443"} {
		e, err := f.newEvaluator(target)
		require.NoError(t, err, target)
		require.NotNil(t, e)
	}
	for _, target := range []string{"evaluator.example", "evaluator.example:50508", "grpc://evaluator.example",
		"grpc://:50508", "tcp://evaluator.example:1", "grpc://a b:1", "://",
		// Ports that do not exist: with them, each cycle would fail.
		"grpc://evaluator.example:70000", "http://evaluator.example:0"} {
		_, err := f.newEvaluator(target)
		require.Error(t, err, target)
	}
	_, err = f.newEvaluator("evaluator.example:50508")
	require.ErrorContains(t, err, "begins with none of grpc://")
}
