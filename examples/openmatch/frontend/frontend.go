// Package frontend is a game frontend for Open Match: it stands between game clients and Open Match, turns a player who
// wants to play into a ticket, and tells them where to connect.
package frontend

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// Player is somebody who wants to play.
type Player struct {
	Name  string
	Mode  string // a tag of the ticket
	Skill float64
}

// Frontend creates tickets and waits for their assignments. It is safe for concurrent use.
type Frontend struct {
	OpenMatch pb.FrontendServiceClient
	Patience  time.Duration // how long a player waits
}

// ErrNobody says that no match was found in time.
var ErrNobody = errors.New("nobody to play with")

// goodbye is for taking the ticket back, also when the player is gone.
const goodbye = 5 * time.Second

// Play queues a player and waits until a match is found. Errors: ErrNobody; the end of ctx; what Open Match says. Whatever
// happens, the ticket is gone afterwards.
func (f *Frontend) Play(ctx context.Context, player Player) (connection string, err error) {
	ticket, err := f.OpenMatch.CreateTicket(ctx, &pb.CreateTicketRequest{Ticket: &pb.Ticket{SearchFields: &pb.SearchFields{
		Tags:       []string{player.Mode},
		StringArgs: map[string]string{"player": player.Name},
		DoubleArgs: map[string]float64{"skill": player.Skill},
	}}})
	if err != nil {
		return "", err
	}
	defer f.leave(ctx, ticket.GetId())
	waiting, cancel := context.WithTimeout(ctx, f.Patience)
	defer cancel()
	connection, err = f.assignment(waiting, ticket.GetId())
	if status.Code(err) == codes.DeadlineExceeded && ctx.Err() == nil {
		return "", ErrNobody
	}
	return connection, err
}

// assignment waits for the first one. There may be more: the stream goes on until the ticket is gone.
func (f *Frontend) assignment(ctx context.Context, id string) (connection string, err error) {
	stream, err := f.OpenMatch.WatchAssignments(ctx, &pb.WatchAssignmentsRequest{TicketId: id})
	if err != nil {
		return "", err
	}
	got, err := stream.Recv()
	return got.GetAssignment().GetConnection(), err
}

func (f *Frontend) leave(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_, _ = f.OpenMatch.DeleteTicket(ctx, &pb.DeleteTicketRequest{TicketId: id}) // else it is matched with nobody behind it
}
