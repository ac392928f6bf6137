package functionstest

import (
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// Proposing is a match function that proposes given matches.
func Proposing(matches ...*pb.Match) func(*pb.RunRequest, RunServer) error {
	return func(_ *pb.RunRequest, stream RunServer) error { return send(stream, matches) }
}

// ProposingCount is a match function that proposes n matches, whose ids are the numbers from 0.
func ProposingCount(n int) func(*pb.RunRequest, RunServer) error {
	return func(_ *pb.RunRequest, stream RunServer) error {
		for i := range n {
			if err := stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: fmt.Sprint(i)}}); err != nil {
				return err
			}
		}
		return nil
	}
}

// OfPool is a match function that queries the first pool of its profile at a connection and proposes what matchesOf
// returns for the tickets, which it gets with the oldest first.
func OfPool(conn func() *grpc.ClientConn,
	matchesOf func(tickets []*pb.Ticket) []*pb.Match) func(*pb.RunRequest, RunServer) error {
	return func(r *pb.RunRequest, stream RunServer) error {
		pool := r.GetProfile().GetPools()[0]
		pages, err := ReceiveAll(pb.NewQueryServiceClient(conn()).QueryTickets(stream.Context(),
			&pb.QueryTicketsRequest{Pool: pool}))
		if err != nil {
			return err
		}
		var tickets []*pb.Ticket
		for _, page := range pages {
			tickets = append(tickets, page.GetTickets()...)
		}
		slices.SortStableFunc(tickets, func(a, b *pb.Ticket) int {
			return a.GetCreateTime().AsTime().Compare(b.GetCreateTime().AsTime())
		})
		matches := matchesOf(tickets)
		for _, m := range matches {
			m.MatchProfile = r.GetProfile().GetName()
		}
		return send(stream, matches)
	}
}

// Pairs makes a match of each two tickets that follow one another, for [OfPool]. id returns the id of the next match.
func Pairs(id func() string) func(tickets []*pb.Ticket) []*pb.Match {
	return func(tickets []*pb.Ticket) (all []*pb.Match) {
		for pair := range slices.Chunk(tickets, 2) {
			if len(pair) == 2 {
				all = append(all, &pb.Match{MatchId: id(), MatchFunction: "pairs", Tickets: pair})
			}
		}
		return all
	}
}

func send(stream RunServer, matches []*pb.Match) error {
	for _, m := range matches {
		if err := stream.Send(&pb.RunResponse{Proposal: m}); err != nil {
			return err
		}
	}
	return nil
}

// UnknownAny has a type that the director does not know, as those of games have.
func UnknownAny() *anypb.Any {
	return &anypb.Any{TypeUrl: "type.googleapis.com/game.Unheard", Value: []byte{1, 2, 3}}
}
