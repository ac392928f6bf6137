package openmatch

import (
	"context"
	"errors"
	"log/slog"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cycle"
	"github.com/lattice-director/director/match"
)

// FetchMatches implements pb.BackendServiceServer. It ends when the cycle that the call joined is over for it.
func (b backend) FetchMatches(r *pb.FetchMatchesRequest, stream grpc.ServerStreamingServer[pb.FetchMatchesResponse]) error {
	switch {
	case r.GetConfig() == nil:
		return invalid(".config is required")
	case r.GetProfile() == nil:
		return invalid(".profile is required")
	}
	return b.cycle.Fetch(stream.Context(), &fetch{Server: b.Server, request: r, stream: stream})
}

// fetch is one call as a cycle sees it.
type fetch struct {
	*Server
	request *pb.FetchMatchesRequest
	stream  grpc.ServerStreamingServer[pb.FetchMatchesResponse]
}

// Run implements [cycle.Caller]: it calls the match function that the caller names.
func (f *fetch) Run(ctx context.Context, propose func(cycle.Proposal) error) error {
	unreadable := 0
	err := f.functions.run(ctx, f.request.GetConfig(), f.request.GetProfile(), func(m *pb.Match) error {
		p, err := f.options.proposal(m)
		if err != nil {
			return err
		}
		if p.Unreadable {
			unreadable++
		}
		return propose(p)
	})
	f.warn(ctx, unreadable, err)
	return err
}

// warn tells the operator what is wrong with a match function; its caller may not look, or is told less.
func (f *fetch) warn(ctx context.Context, unreadable int, err error) {
	at, log := f.request.GetConfig(), f.options.Log
	about := slog.Group("match_function", slog.String("profile", f.request.GetProfile().GetName()), slog.String("host", at.GetHost()), slog.Int("port", int(at.GetPort())))
	if unreadable > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "a match function gives scores that cannot be read", about, slog.Int("matches", unreadable))
	}
	if unreachable, ok := errors.AsType[*unreachableError](err); ok {
		err = unreachable.cause
	}
	switch {
	case errors.Is(err, errNotAllowed):
		log.LogAttrs(ctx, slog.LevelWarn, "a match function's address is not allowed: list it in DIRECTOR_OM_FUNCTIONS", about)
	case err != nil && ctx.Err() == nil: // else it was ended
		log.LogAttrs(ctx, slog.LevelWarn, "a match function failed", about, slog.Any("error", err))
	}
}

// Deliver implements [cycle.Caller].
func (f *fetch) Deliver(a cycle.Accepted) error {
	const field protowire.Number = 1
	if a.CreatedBackfill == nil {
		return f.tell(raw(&pb.FetchMatchesResponse{}, appendMessage(nil, field, a.Match)))
	}
	var m pb.Match
	if err := proto.Unmarshal(a.Match, &m); err != nil {
		return err
	}
	b := m.GetBackfill()
	b.Id, b.Generation, b.CreateTime = a.CreatedBackfill.ID, a.CreatedBackfill.Generation, timestamppb.New(a.CreatedBackfill.Created)
	return f.tell(&pb.FetchMatchesResponse{Match: &m})
}

func (f *fetch) tell(answer *pb.FetchMatchesResponse) error {
	return f.send(f.stream.Context(), func() error { return f.stream.Send(answer) })
}

// proposal is what a cycle has to know of a match. Errors: what keeps the match function from proposing it.
func (o Options) proposal(m *pb.Match) (p cycle.Proposal, err error) {
	if m == nil {
		return p, invalid("the match function sent an answer without a match")
	}
	if p.Match, err = proto.Marshal(m); err != nil {
		return p, err
	}
	if len(p.Match) > maxMatch {
		return p, status.Errorf(codes.ResourceExhausted, "the match function sent a match of more than %d bytes", maxMatch)
	}
	p.Proposal = match.Proposal{ID: m.GetMatchId(), Tickets: make([]string, 0, len(m.GetTickets()))}
	for _, t := range m.GetTickets() {
		p.Tickets = append(p.Tickets, t.GetId())
	}
	p.Score, p.Unreadable = scoreOf(m)
	b := m.GetBackfill()
	if b == nil {
		return p, nil
	}
	p.Backfill, p.Generation = b.GetId(), b.GetGeneration()
	p.BackfillBody, err = encode("the backfill", b, o.MaxTicket)
	return p, err
}

// scoreInput is where a match function puts what the default evaluator judges by.
const scoreInput = "evaluation_input"

// scoreOf gives a match's score, nil where it has none, and whether it has one that cannot be read.
func scoreOf(m *pb.Match) (score *float64, unreadable bool) {
	input, ok := m.GetExtensions()[scoreInput]
	if !ok {
		return nil, false
	}
	var criteria pb.DefaultEvaluationCriteria
	if input.UnmarshalTo(&criteria) != nil {
		return nil, true
	}
	return new(criteria.GetScore()), false
}

// asRequest is what the evaluator is told of a proposal.
func asRequest(p cycle.Proposal) *pb.EvaluateRequest {
	const field protowire.Number = 1
	return raw(&pb.EvaluateRequest{}, appendMessage(nil, field, p.Match))
}

// matchedBackfill is what becomes of a backfill in an accepted match: a new one as the match function sent it, or one that
// exists with what pools and game servers are to see of it since. What is meant to stay with it, stays.
func matchedBackfill(sent []byte, old *db.Backfill) (db.NewBackfill, error) {
	var b pb.Backfill
	if err := proto.Unmarshal(sent, &b); err != nil {
		return db.NewBackfill{}, err
	}
	if old == nil {
		return newBackfill(&b, math.MaxInt) // bounded when it came
	}
	var kept pb.Backfill
	if err := proto.Unmarshal(old.Body, &kept); err != nil {
		return db.NewBackfill{}, err
	}
	kept.SearchFields, kept.Extensions = b.GetSearchFields(), b.GetExtensions()
	return newBackfill(&kept, math.MaxInt)
}
