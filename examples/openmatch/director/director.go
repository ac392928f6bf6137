// Package director is a director for Open Match: for each of its profiles it fetches matches in a loop, allocates a
// game server for each match, and assigns the tickets of its players to that server.
package director

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// Director fetches and assigns. All fields are required.
type Director struct {
	Backend  pb.BackendServiceClient
	Function *pb.FunctionConfig // where Open Match reaches the match function
	Profiles []*pb.MatchProfile
	Allocate func(ctx context.Context, match *pb.Match) (connection string, err error) // gets a game server
	Log      *slog.Logger
}

// failurePause is the pause after an error of Open Match.
const failurePause = time.Second

// Run serves all profiles until ctx ends. It fetches them at the same time, so that Open Match evaluates their
// proposals together.
func (d *Director) Run(ctx context.Context) {
	var profiles sync.WaitGroup
	for _, profile := range d.Profiles {
		profiles.Go(func() {
			for ctx.Err() == nil {
				if err := d.fetchMatches(ctx, profile); err != nil && ctx.Err() == nil {
					d.Log.LogAttrs(ctx, slog.LevelWarn, "cannot fetch matches",
						slog.String("profile", profile.GetName()), slog.Any("error", err))
					// Only after an error: a cycle without matches ends by itself, after Open Match's own intervals.
					restFor(ctx, failurePause)
				}
			}
		})
	}
	profiles.Wait()
}

// restFor waits for d, or until ctx ends.
func restFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// fetchMatches receives the matches of one cycle. The stream ends when the cycle does.
func (d *Director) fetchMatches(ctx context.Context, profile *pb.MatchProfile) error {
	stream, err := d.Backend.FetchMatches(ctx, &pb.FetchMatchesRequest{Config: d.Function, Profile: profile})
	if err != nil {
		return err
	}
	for {
		got, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// An error gives up the rest of the cycle: the tickets of its matches return to the queue when their time as
		// pending is over.
		if err := d.assignMatch(ctx, got.GetMatch()); err != nil {
			return err
		}
	}
}

// assignMatch assigns the players of a match to a game server. When none can be allocated, their tickets return to the
// queue.
func (d *Director) assignMatch(ctx context.Context, match *pb.Match) error {
	ids := make([]string, len(match.GetTickets()))
	for i, ticket := range match.GetTickets() {
		ids[i] = ticket.GetId()
	}
	connection, err := d.Allocate(ctx, match)
	if err != nil {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "no game server", slog.String("match", match.GetMatchId()),
			slog.Any("error", err))
		// Without this call, no other match could have the tickets until their time as pending is over.
		_, err = d.Backend.ReleaseTickets(ctx, &pb.ReleaseTicketsRequest{TicketIds: ids})
		return err
	}
	answer, err := d.Backend.AssignTickets(ctx, &pb.AssignTicketsRequest{Assignments: []*pb.AssignmentGroup{
		{TicketIds: ids, Assignment: &pb.Assignment{Connection: connection}},
	}})
	if err != nil {
		return err
	}
	for _, failure := range answer.GetFailures() { // the player has left
		d.Log.LogAttrs(ctx, slog.LevelInfo, "not assigned", slog.String("ticket", failure.GetTicketId()),
			slog.String("cause", failure.GetCause().String()))
	}
	return nil
}
