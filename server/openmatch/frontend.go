package openmatch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

// frontend is openmatch.FrontendService; its backfills are in backfill.go.
type frontend struct {
	pb.UnimplementedFrontendServiceServer
	server *Server
}

// CreateTicket implements pb.FrontendServiceServer.
func (f frontend) CreateTicket(ctx context.Context, r *pb.CreateTicketRequest) (*pb.Ticket, error) {
	t := r.GetTicket()
	switch {
	case t == nil:
		return nil, invalidError(".ticket is required")
	case t.GetAssignment() != nil:
		return nil, invalidError("tickets cannot be created with an assignment")
	case t.GetCreateTime() != nil:
		return nil, invalidError("tickets cannot be created with create time set")
	}
	n, err := f.server.draftOf(ctx, t)
	if err != nil {
		return nil, err
	}
	created, err := f.server.options.Store.CreateTicket(ctx, f.server.options.Universe, n)
	if err != nil {
		return nil, err
	}
	return ticketbody.Raw(&pb.Ticket{}, created.Body), nil
}

// draftOf returns what the store keeps of a ticket, with the options of its caller.
func (s *Server) draftOf(ctx context.Context, t *pb.Ticket) (n db.NewTicket, err error) {
	if n, err = newTicket(t, s.options.MaxTicket); err != nil {
		return n, err
	}
	if n.TTL, n.KeepAlive, err = ttlOf(ctx); err != nil {
		return n, err
	}
	n.Player, err = s.options.playerOf(t)
	return n, err
}

// playerOf returns the player who may have one live ticket only; "" where PlayerArg sets no limit.
func (o Options) playerOf(t *pb.Ticket) (string, error) {
	if o.PlayerArg == "" {
		return "", nil
	}
	player := t.GetSearchFields().GetStringArgs()[o.PlayerArg]
	if len(player) > maxPlayer || strings.Contains(player, "\x00") {
		return "", invalidError(fmt.Sprintf("string_args[%q] must be a player's name of %d bytes at most, "+
			"without zero bytes", o.PlayerArg, maxPlayer))
	}
	return player, nil
}

// GetTicket implements pb.FrontendServiceServer.
func (f frontend) GetTicket(ctx context.Context, r *pb.GetTicketRequest) (*pb.Ticket, error) {
	t, err := f.server.options.Store.GetTicket(ctx, f.server.options.Universe, r.GetTicketId())
	if err != nil {
		return nil, err
	}
	return ticketbody.Raw(&pb.Ticket{}, t.Encoded()), nil
}

// DeleteTicket implements pb.FrontendServiceServer.
func (f frontend) DeleteTicket(ctx context.Context, r *pb.DeleteTicketRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, f.server.options.Store.DeleteTicket(ctx, f.server.options.Universe, r.GetTicketId())
}

// WatchAssignments implements pb.FrontendServiceServer. The stream continues after an assignment, because the ticket
// may be assigned again, and ends when the ticket is gone.
func (f frontend) WatchAssignments(r *pb.WatchAssignmentsRequest,
	stream grpc.ServerStreamingServer[pb.WatchAssignmentsResponse]) error {
	err := f.server.watchHub.Watch(stream.Context(), r.GetTicketId(), func(assignment []byte) error {
		answer := ticketbody.Raw(&pb.WatchAssignmentsResponse{},
			ticketbody.AppendMessage(nil, watchAssignment, assignment))
		if err := f.server.sendLasting(stream.Context(), func() error { return stream.Send(answer) }); err != nil {
			return status.Error(codes.Aborted, "the assignment could not be sent")
		}
		return nil
	})
	// The error of the hub would say no more than that the context has ended.
	if ended := stream.Context().Err(); ended != nil {
		return watchEnded(ended)
	}
	return err
}

// watchEnded is the status of a watch whose context has ended. Open Match answers Aborted also to a caller whose
// deadline has passed, which sees it if the answer arrives before its own timer runs: callers expect only
// DeadlineExceeded.
func watchEnded(ended error) error {
	if errors.Is(ended, context.DeadlineExceeded) {
		return status.Error(codes.DeadlineExceeded, "no assignment before the deadline of the call")
	}
	return status.Error(codes.Aborted, "the caller watches no longer")
}
