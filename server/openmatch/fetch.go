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

// FetchMatches implements pb.BackendServiceServer. internal/cycle matches tickets; this file is its side of the protocol. The
// stream ends when the call's cycle has ended and all its matches are sent.
func (b backend) FetchMatches(r *pb.FetchMatchesRequest, stream grpc.ServerStreamingServer[pb.FetchMatchesResponse]) error {
	switch {
	case r.GetConfig() == nil:
		return invalid(".config is required")
	case r.GetProfile() == nil:
		return invalid(".profile is required")
	}
	return b.cycle.Fetch(stream.Context(), &fetch{Server: b.Server, request: r, stream: stream})
}

// fetch is one call; it implements [cycle.Caller].
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

// warn logs what is wrong with a match function: its caller gets less detail.
func (f *fetch) warn(ctx context.Context, unreadable int, err error) {
	at, log := f.request.GetConfig(), f.options.Log
	about := slog.Group("match_function", slog.String("profile", f.request.GetProfile().GetName()), slog.String("host", at.GetHost()), slog.Int("port", int(at.GetPort())))
	if unreadable > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "a match function sets scores that cannot be decoded", about, slog.Int("matches", unreadable))
	}
	if unreachable, ok := errors.AsType[*unreachableError](err); ok {
		err = unreachable.cause
	}
	switch {
	case errors.Is(err, errNotAllowed):
		log.LogAttrs(ctx, slog.LevelWarn, "a match function's address is not allowed: list it in DIRECTOR_OM_FUNCTIONS", about)
	case err != nil && ctx.Err() == nil: // otherwise it was canceled
		log.LogAttrs(ctx, slog.LevelWarn, "a match function failed", about, slog.Any("error", err))
	}
}

// Deliver implements [cycle.Caller].
func (f *fetch) Deliver(a cycle.Accepted) error {
	const field protowire.Number = 1
	if a.CreatedBackfill == nil {
		return f.deliver(raw(&pb.FetchMatchesResponse{}, appendMessage(nil, field, a.Match)))
	}
	var m pb.Match
	if err := proto.Unmarshal(a.Match, &m); err != nil {
		return err
	}
	b := m.GetBackfill()
	b.Id, b.Generation, b.CreateTime = a.CreatedBackfill.ID, a.CreatedBackfill.Generation, timestamppb.New(a.CreatedBackfill.Created)
	return f.deliver(&pb.FetchMatchesResponse{Match: &m})
}

func (f *fetch) deliver(answer *pb.FetchMatchesResponse) error {
	return f.send(f.stream.Context(), func() error { return f.stream.Send(answer) })
}

// proposal converts a match that a match function proposes. Errors: the match is missing or too large.
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

// scoreInput is the extension of a match that holds the default evaluator's criteria.
const scoreInput = "evaluation_input"

// scoreOf returns a match's score, nil where it has none. unreadable: it has one that cannot be decoded.
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

// asRequest makes the evaluator's message of a proposal.
func asRequest(p cycle.Proposal) *pb.EvaluateRequest {
	const field protowire.Number = 1
	return raw(&pb.EvaluateRequest{}, appendMessage(nil, field, p.Match))
}

// matchedBackfill returns a backfill's contents after a match: a new one as the match function sent it; an existing one with the
// search fields and extensions that the match function sent, and its own persistent field.
func matchedBackfill(sent []byte, old *db.Backfill) (db.NewBackfill, error) {
	var b pb.Backfill
	if err := proto.Unmarshal(sent, &b); err != nil {
		return db.NewBackfill{}, err
	}
	if old == nil {
		return newBackfill(&b, math.MaxInt) // its size was checked when it was proposed
	}
	var kept pb.Backfill
	if err := proto.Unmarshal(old.Body, &kept); err != nil {
		return db.NewBackfill{}, err
	}
	kept.SearchFields, kept.Extensions = b.GetSearchFields(), b.GetExtensions()
	return newBackfill(&kept, math.MaxInt)
}
