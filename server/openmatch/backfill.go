package openmatch

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
)

// CreateBackfill implements pb.FrontendServiceServer.
func (f frontend) CreateBackfill(ctx context.Context, r *pb.CreateBackfillRequest) (*pb.Backfill, error) {
	b := r.GetBackfill()
	switch {
	case b == nil:
		return nil, invalid(".backfill is required")
	case b.GetCreateTime() != nil:
		return nil, invalid("backfills cannot be created with create time set")
	}
	n, err := newBackfill(b, f.options.MaxTicket)
	if err != nil {
		return nil, err
	}
	created, err := f.options.Store.CreateBackfill(ctx, f.options.Region, n)
	if err != nil {
		return nil, err
	}
	return raw(&pb.Backfill{}, encodedBackfill(created)), nil
}

// GetBackfill implements pb.FrontendServiceServer.
func (f frontend) GetBackfill(ctx context.Context, r *pb.GetBackfillRequest) (*pb.Backfill, error) {
	b, err := f.options.Store.GetBackfill(ctx, f.options.Region, r.GetBackfillId())
	if err != nil {
		return nil, err
	}
	return raw(&pb.Backfill{}, encodedBackfill(b)), nil
}

// UpdateBackfill implements pb.FrontendServiceServer.
func (f frontend) UpdateBackfill(ctx context.Context, r *pb.UpdateBackfillRequest) (*pb.Backfill, error) {
	b := r.GetBackfill()
	if b == nil {
		return nil, invalid(".backfill is required")
	}
	id := b.GetId()
	if id == "" {
		return nil, invalid("backfill ID should exist")
	}
	n, err := newBackfill(b, f.options.MaxTicket)
	if err != nil {
		return nil, err
	}
	updated, err := f.options.Store.UpdateBackfill(ctx, f.options.Region, id, func(db.Backfill) (db.NewBackfill, error) { return n, nil })
	if err != nil {
		return nil, err
	}
	return raw(&pb.Backfill{}, encodedBackfill(updated)), nil
}

// AcknowledgeBackfill implements pb.FrontendServiceServer.
func (f frontend) AcknowledgeBackfill(ctx context.Context, r *pb.AcknowledgeBackfillRequest) (*pb.AcknowledgeBackfillResponse, error) {
	switch {
	case r.GetBackfillId() == "":
		return nil, invalid(".BackfillId is required")
	case r.GetAssignment() == nil:
		return nil, invalid(".Assignment is required")
	}
	assignment, err := encode("the assignment", r.GetAssignment(), f.options.MaxTicket)
	if err != nil {
		return nil, err
	}
	b, assigned, err := f.options.Store.AcknowledgeBackfill(ctx, f.options.Region, r.GetBackfillId(), assignment)
	if err != nil {
		return nil, err
	}
	answer := appendMessage(nil, ackBackfill, encodedBackfill(b))
	for _, t := range assigned {
		answer = appendMessage(answer, ackTickets, t.Encoded())
	}
	return raw(&pb.AcknowledgeBackfillResponse{}, answer), nil
}

// DeleteBackfill implements pb.FrontendServiceServer.
func (f frontend) DeleteBackfill(ctx context.Context, r *pb.DeleteBackfillRequest) (*emptypb.Empty, error) {
	if r.GetBackfillId() == "" {
		return nil, invalid(".BackfillId is required")
	}
	return &emptypb.Empty{}, f.options.Store.DeleteBackfill(ctx, f.options.Region, r.GetBackfillId())
}
