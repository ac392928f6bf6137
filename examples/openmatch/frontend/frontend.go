// Package frontend is a game frontend for Open Match: it creates a ticket for each player of the game's clients, and
// returns the address that the player was assigned to.
package frontend

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// Player is a player to be matched.
type Player struct {
	Name  string
	Mode  string // a tag of the ticket
	Skill float64
}

// Frontend creates tickets and waits for their assignments. It is safe for concurrent use.
type Frontend struct {
	OpenMatch pb.FrontendServiceClient
	Timeout   time.Duration // how long a player waits for an assignment
}

// ErrNobody means that no match was found in time.
var ErrNobody = errors.New("nobody to play with")

// deleteTimeout bounds deleting the ticket, also after the player's context has ended.
const deleteTimeout = 5 * time.Second

// Play queues a player and waits for a match. Errors: ErrNobody, the end of ctx, errors of Open Match. The ticket is
// deleted in every case.
func (f *Frontend) Play(ctx context.Context, player Player) (connection string, err error) {
	ticket, err := f.OpenMatch.CreateTicket(ctx,
		&pb.CreateTicketRequest{Ticket: &pb.Ticket{SearchFields: &pb.SearchFields{
			Tags:       []string{player.Mode},
			StringArgs: map[string]string{"player": player.Name},
			DoubleArgs: map[string]float64{"skill": player.Skill},
		}}})
	if err != nil {
		return "", err
	}
	defer f.deleteTicket(ctx, ticket.GetId())
	waiting, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	connection, err = f.awaitAssignment(waiting, ticket.GetId())
	// The wait is over, but not the caller's context: there was no match.
	if status.Code(err) == codes.DeadlineExceeded && ctx.Err() == nil {
		return "", ErrNobody
	}
	return connection, err
}

// awaitAssignment waits for the first assignment. The stream would send later ones until the ticket is deleted.
func (f *Frontend) awaitAssignment(ctx context.Context, id string) (connection string, err error) {
	stream, err := f.OpenMatch.WatchAssignments(ctx, &pb.WatchAssignmentsRequest{TicketId: id})
	if err != nil {
		return "", err
	}
	got, err := stream.Recv()
	if err != nil {
		return "", err
	}
	return got.GetAssignment().GetConnection(), nil
}

func (f *Frontend) deleteTicket(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	// A ticket that stayed could be matched without a player.
	_, _ = f.OpenMatch.DeleteTicket(ctx, &pb.DeleteTicketRequest{TicketId: id})
}
