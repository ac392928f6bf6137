// Package matchfunction is a match function for Open Match: Open Match calls it with a profile, it queries the tickets
// in the profile's pools and proposes duels of two players with similar skill. It assigns nothing: of proposals that
// share a player Open Match's evaluator keeps the one with the best score, and the director gets that one.
package matchfunction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// Skill is the double_arg of a ticket by which duels are made.
const Skill = "skill"

// Function implements openmatch.MatchFunction. Register it with a grpc.Server.
type Function struct {
	pb.UnimplementedMatchFunctionServer

	Query pb.QueryServiceClient
}

// Run proposes all duels of a profile's pools. Open Match calls it once for each FetchMatches.
func (f *Function) Run(req *pb.RunRequest, stream pb.MatchFunction_RunServer) error {
	for _, pool := range req.GetProfile().GetPools() {
		tickets, err := f.waitingTickets(stream.Context(), pool)
		if err != nil {
			return err
		}
		duels, err := pairTickets(req.GetProfile().GetName(), pool.GetName(), tickets)
		if err != nil {
			return err
		}
		for _, duel := range duels {
			if err := stream.Send(&pb.RunResponse{Proposal: duel}); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitingTickets reads all pages of a pool.
func (f *Function) waitingTickets(ctx context.Context, pool *pb.Pool) (tickets []*pb.Ticket, err error) {
	stream, err := f.Query.QueryTickets(ctx, &pb.QueryTicketsRequest{Pool: pool})
	if err != nil {
		return nil, err
	}
	for {
		page, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return tickets, nil
		}
		if err != nil {
			return nil, err
		}
		tickets = append(tickets, page.GetTickets()...)
	}
}

// pairTickets pairs neighbours by skill. A player who is left over stays in the queue.
func pairTickets(profile, pool string, tickets []*pb.Ticket) (duels []*pb.Match, err error) {
	slices.SortFunc(tickets, func(a, b *pb.Ticket) int { return cmp.Compare(skillOf(a), skillOf(b)) })
	for two := range slices.Chunk(tickets, 2) {
		if len(two) < 2 {
			break
		}
		duel, err := proposeDuel(profile, pool, two[0], two[1])
		if err != nil {
			return nil, err
		}
		duels = append(duels, duel)
	}
	return duels, nil
}

// proposeDuel scores a duel: a smaller difference of skill is better. The default evaluator reads the score.
func proposeDuel(profile, pool string, a, b *pb.Ticket) (*pb.Match, error) {
	// a is not the stronger one, since the tickets are sorted: the score is 0 or less.
	score, err := anypb.New(&pb.DefaultEvaluationCriteria{Score: skillOf(a) - skillOf(b)})
	if err != nil {
		return nil, err
	}
	return &pb.Match{
		MatchId:       fmt.Sprintf("%s-%s-%s-%s", profile, pool, a.GetId(), b.GetId()), // unique among all proposals
		MatchProfile:  profile,
		MatchFunction: "duels",
		Tickets:       []*pb.Ticket{a, b},
		Extensions:    map[string]*anypb.Any{"evaluation_input": score},
	}, nil
}

func skillOf(t *pb.Ticket) float64 { return t.GetSearchFields().GetDoubleArgs()[Skill] }
