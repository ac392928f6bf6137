package openmatch_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/must"
)

func scored(t *testing.T, m *pb.Match, score float64) *pb.Match {
	criteria := must.Get(anypb.New(&pb.DefaultEvaluationCriteria{Score: score}))(t)
	m.Extensions = map[string]*anypb.Any{"evaluation_input": criteria}
	return m
}

// The default evaluator accepts the best matches, and drops those whose score cannot be decoded.
func TestFetchMatchesByScore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ticket := b.create(&pb.Ticket{})
	unreadable := &pb.Match{MatchId: "unreadable",
		Extensions: map[string]*anypb.Any{"evaluation_input": functionstest.UnknownAny()}}
	matches, err := b.fetch(proposing(t, unreadable,
		&pb.Match{MatchId: "none", Tickets: []*pb.Ticket{ticket}},
		scored(t, &pb.Match{MatchId: "low", Tickets: []*pb.Ticket{ticket}}, 1),
		scored(t, &pb.Match{MatchId: "high", Tickets: []*pb.Ticket{ticket}}, 2)))
	require.NoError(t, err)
	require.Len(t, matches, 1)
	require.Equal(t, "high", matches[0].GetMatchId())
}

// A new backfill is returned with its id, creation time and generation, and otherwise as the function sent it.
func TestFetchMatchesCreatesBackfills(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ticket := b.create(&pb.Ticket{})
	sent := &pb.Match{
		MatchId: "m", AllocateGameserver: true, Tickets: []*pb.Ticket{ticket},
		Extensions: map[string]*anypb.Any{"x": functionstest.UnknownAny()},
		Backfill: &pb.Backfill{
			SearchFields:    &pb.SearchFields{Tags: []string{"open"}},
			Extensions:      map[string]*anypb.Any{"e": functionstest.UnknownAny()},
			PersistentField: map[string]*anypb.Any{"p": functionstest.UnknownAny()},
			CreateTime:      &timestamppb.Timestamp{Seconds: 1, Nanos: 1}, Generation: 5,
		},
	}
	matches, err := b.fetch(proposing(t, sent))
	require.NoError(t, err)
	require.Len(t, matches, 1)
	got := matches[0]
	stored, err := b.backfill(got.GetBackfill().GetId())
	require.NoError(t, err)
	same(t, stored, got.GetBackfill())
	require.EqualValues(t, 1, stored.GetGeneration())
	expected := proto.CloneOf(sent)
	expected.Backfill.Id, expected.Backfill.CreateTime, expected.Backfill.Generation = stored.GetId(), stored.GetCreateTime(), 1
	same(t, expected, got)
	require.WithinDuration(t, time.Now(), stored.GetCreateTime().AsTime(), time.Minute)

	acknowledged, err := b.acknowledge(stored.GetId(), "server:1")
	require.NoError(t, err)
	require.Len(t, acknowledged.GetTickets(), 1)
	require.Equal(t, ticket.GetId(), acknowledged.GetTickets()[0].GetId())
}

// A match with an existing backfill is returned with the backfill as the function sent it. The next match needs the new
// generation.
func TestFetchMatchesIntoABackfill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	known := b.createBackfill(&pb.Backfill{PersistentField: map[string]*anypb.Any{"p": functionstest.UnknownAny()}})
	into := func() *pb.Match {
		f := proto.CloneOf(known)
		f.SearchFields, f.PersistentField = &pb.SearchFields{Tags: []string{"one seat left"}}, nil
		return &pb.Match{MatchId: "m", Backfill: f, Tickets: []*pb.Ticket{b.create(&pb.Ticket{})}}
	}
	sent := into()
	matches, err := b.fetch(proposing(t, sent))
	require.NoError(t, err)
	require.Len(t, matches, 1)
	same(t, sent, matches[0])
	stored, err := b.backfill(known.GetId())
	require.NoError(t, err)
	expected := proto.CloneOf(known)
	expected.SearchFields, expected.Generation = sent.GetBackfill().GetSearchFields(), 2
	same(t, expected, stored)

	late := into() // of generation 1 as well
	matches, err = b.fetch(proposing(t, late))
	require.NoError(t, err)
	require.Empty(t, matches)
	require.Contains(t, b.queried(&pb.Pool{}), late.GetTickets()[0].GetId())
}

// An invalid answer of the evaluator fails the cycle for all callers, with its text.
func TestFetchMatchesOfAnInvalidEvaluator(t *testing.T) {
	t.Parallel()
	for text, answers := range map[string][]string{
		`evaluator returned match_id "other" which does not correspond to its any match in its input`: {"other"},
		`evaluator returned same match_id twice: "m"`:                                                 {"m", "m"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			evaluator := functionstest.Judge(func(shown func() (*pb.Match, error), accept func(string) error) error {
				if _, err := shown(); err != nil {
					return err
				}
				for _, id := range answers {
					if err := accept(id); err != nil {
						return err
					}
				}
				return nil
			})
			b := setup(t, func(c *config) { c.EvaluatorURL = evaluator.OverGRPC(t) })
			_, err := b.fetch(proposing(t, &pb.Match{MatchId: "m"}))
			require.Equal(t, codes.Unknown, status.Code(err))
			require.ErrorContains(t, err, text)
		})
	}
}

// With an evaluator that accepts at once, a match is delivered before the cycle ends: here, while another function
// runs.
func TestFetchMatchesStreams(t *testing.T) {
	t.Parallel()
	evaluator := functionstest.Judge(func(shown func() (*pb.Match, error), accept func(string) error) error {
		for {
			m, err := shown()
			if m == nil || err != nil {
				return err
			}
			if err := accept(m.GetMatchId()); err != nil {
				return err
			}
		}
	})
	for name, target := range map[string]string{"grpc": evaluator.OverGRPC(t), "http": evaluator.OverHTTP(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, window(0, time.Minute), func(c *config) { c.EvaluatorURL = target })
			arrived := make(chan struct{})
			at := functionstest.ServeMMF(t, func(_ *pb.RunRequest, stream functionstest.RunServer) error {
				if err := stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: "early"}}); err != nil {
					return err
				}
				select {
				case <-arrived:
					return stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: "late"}})
				case <-stream.Context().Done():
					return stream.Context().Err()
				}
			})
			stream, err := b.FetchMatches(t.Context(), &pb.FetchMatchesRequest{Config: at, Profile: &pb.MatchProfile{}})
			require.NoError(t, err)
			for _, id := range []string{"early", "late"} {
				answer, err := stream.Recv()
				require.NoError(t, err)
				require.Equal(t, id, answer.GetMatch().GetMatchId())
				if id == "early" {
					close(arrived)
				}
			}
			_, err = stream.Recv()
			require.ErrorIs(t, err, io.EOF)
		})
	}
}
