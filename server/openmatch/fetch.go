package openmatch

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/cycle"
)

// FetchMatches implements pb.BackendServiceServer. internal/openmatch/cycle matches tickets; this file is its side of
// the protocol. The stream ends when the call's cycle has ended and all its matches are sent.
func (b backend) FetchMatches(r *pb.FetchMatchesRequest,
	stream grpc.ServerStreamingServer[pb.FetchMatchesResponse]) error {
	switch {
	case r.GetConfig() == nil:
		return invalidError(".config is required")
	case r.GetProfile() == nil:
		return invalidError(".profile is required")
	}
	return b.server.matchmaker.Engine.Fetch(stream.Context(), &fetch{server: b.server, request: r, stream: stream})
}

// fetch is one call; it implements [cycle.Caller].
type fetch struct {
	server  *Server
	request *pb.FetchMatchesRequest
	stream  grpc.ServerStreamingServer[pb.FetchMatchesResponse]
}

// Run implements [cycle.Caller]: it calls the match function that the caller names.
func (f *fetch) Run(ctx context.Context, propose func(cycle.Proposal) error) error {
	return f.server.matchmaker.Propose(ctx, f.request.GetConfig(), f.request.GetProfile(), propose)
}

// Deliver implements [cycle.Caller].
func (f *fetch) Deliver(a cycle.Accepted) error {
	const field protowire.Number = 1
	// Most matches are passed on as the match function wrote them.
	if a.CreatedBackfill == nil {
		return f.sendMatch(ticketbody.Raw(&pb.FetchMatchesResponse{},
			ticketbody.AppendMessage(nil, field, a.Proposal.Match)))
	}
	var m pb.Match
	if err := proto.Unmarshal(a.Proposal.Match, &m); err != nil {
		return err
	}
	// The match function's backfill has no id: the store has chosen it when the match was accepted.
	b := m.GetBackfill()
	created := a.CreatedBackfill
	b.Id, b.Generation, b.CreateTime = created.ID, created.Generation, timestamppb.New(created.CreatedAt)
	return f.sendMatch(&pb.FetchMatchesResponse{Match: &m})
}

func (f *fetch) sendMatch(answer *pb.FetchMatchesResponse) error {
	return f.server.sendLasting(f.stream.Context(), func() error { return f.stream.Send(answer) })
}
