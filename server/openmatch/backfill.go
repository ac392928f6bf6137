package openmatch

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/functions"
)

// CreateBackfill implements pb.FrontendServiceServer.
func (f frontend) CreateBackfill(ctx context.Context, r *pb.CreateBackfillRequest) (*pb.Backfill, error) {
	b := r.GetBackfill()
	switch {
	case b == nil:
		return nil, invalidError(".backfill is required")
	case b.GetCreateTime() != nil:
		return nil, invalidError("backfills cannot be created with create time set")
	}
	n, err := functions.NewBackfill(b, f.server.options.MaxTicket)
	if err != nil {
		return nil, err
	}
	created, err := f.server.options.Store.CreateBackfill(ctx, f.server.options.Universe, n)
	if err != nil {
		return nil, err
	}
	return ticketbody.Raw(&pb.Backfill{}, encodedBackfill(created)), nil
}

// GetBackfill implements pb.FrontendServiceServer.
func (f frontend) GetBackfill(ctx context.Context, r *pb.GetBackfillRequest) (*pb.Backfill, error) {
	b, err := f.server.options.Store.GetBackfill(ctx, f.server.options.Universe, r.GetBackfillId())
	if err != nil {
		return nil, err
	}
	return ticketbody.Raw(&pb.Backfill{}, encodedBackfill(b)), nil
}

// UpdateBackfill implements pb.FrontendServiceServer.
func (f frontend) UpdateBackfill(ctx context.Context, r *pb.UpdateBackfillRequest) (*pb.Backfill, error) {
	b := r.GetBackfill()
	if b == nil {
		return nil, invalidError(".backfill is required")
	}
	id := b.GetId()
	if id == "" {
		return nil, invalidError("backfill ID should exist")
	}
	n, err := functions.NewBackfill(b, f.server.options.MaxTicket)
	if err != nil {
		return nil, err
	}
	updated, err := f.server.options.Store.UpdateBackfill(ctx, f.server.options.Universe, id,
		func(db.Backfill) (db.NewBackfill, error) { return n, nil })
	if err != nil {
		return nil, err
	}
	return ticketbody.Raw(&pb.Backfill{}, encodedBackfill(updated)), nil
}

// AcknowledgeBackfill implements pb.FrontendServiceServer.
func (f frontend) AcknowledgeBackfill(ctx context.Context,
	r *pb.AcknowledgeBackfillRequest) (*pb.AcknowledgeBackfillResponse, error) {
	switch {
	case r.GetBackfillId() == "":
		return nil, invalidError(".BackfillId is required")
	case r.GetAssignment() == nil:
		return nil, invalidError(".Assignment is required")
	}
	assignment, err := ticketbody.EncodeWithin(f.server.options.MaxTicket, "the assignment", r.GetAssignment())
	if err != nil {
		return nil, err
	}
	b, assigned, err := f.server.options.Store.AcknowledgeBackfill(ctx, f.server.options.Universe, r.GetBackfillId(),
		assignment)
	if err != nil {
		return nil, err
	}
	answer := ticketbody.AppendMessage(nil, ackBackfill, encodedBackfill(b))
	for _, t := range assigned {
		answer = ticketbody.AppendMessage(answer, ackTickets, t.Encoded())
	}
	return ticketbody.Raw(&pb.AcknowledgeBackfillResponse{}, answer), nil
}

// DeleteBackfill implements pb.FrontendServiceServer.
func (f frontend) DeleteBackfill(ctx context.Context, r *pb.DeleteBackfillRequest) (*emptypb.Empty, error) {
	if r.GetBackfillId() == "" {
		return nil, invalidError(".BackfillId is required")
	}
	return &emptypb.Empty{}, f.server.options.Store.DeleteBackfill(ctx, f.server.options.Universe, r.GetBackfillId())
}
