package openmatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/api/openmatch/pb"
)

const (
	// atOnce is how many calls prepare a run at a time, or tidy up after it.
	atOnce = 256
	// goodbye is for tidying up. What is left then waits on.
	goodbye = 30 * time.Second
)

// newTicket is somebody who wants to play: about 150 bytes with two terms and two doubles to be found by, as a small game has.
func newTicket(tag string) *pb.CreateTicketRequest {
	return &pb.CreateTicketRequest{Ticket: &pb.Ticket{SearchFields: &pb.SearchFields{
		Tags:       []string{tag},
		StringArgs: map[string]string{"mode": "duel"},
		DoubleArgs: map[string]float64{"skill": rand.Float64() * 3000, "latency": rand.Float64() * 200},
	}}}
}

// poolOf is all that have the tag. An echo answers as many tickets as its name says.
func poolOf(tag string, n int) *pb.Pool {
	return &pb.Pool{Name: fmt.Sprint(n), TagPresentFilters: []*pb.TagPresentFilter{{Tag: tag}}}
}

// queue makes n tickets wait. Where it fails, it takes back those that it knows of.
func (l *load) queue(ctx context.Context, n int, tag string) (ids []string, err error) {
	ids = make([]string, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range ids {
		group.Go(func() error {
			got, err := l.of(i).frontend.CreateTicket(ctx, newTicket(tag))
			ids[i] = got.GetId()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		l.takeBack(ctx, ids)
		return nil, fmt.Errorf("tickets cannot be queued: %w", counted(err))
	}
	return ids, nil
}

// takeBack deletes those that still wait, also after ctx has ended. Some ids may be of no ticket, as "".
func (l *load) takeBack(ctx context.Context, ids []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, id := range ids {
		group.Go(func() error {
			_, err := l.of(i).frontend.DeleteTicket(ctx, &pb.DeleteTicketRequest{TicketId: id})
			return err
		})
	}
	_ = group.Wait() // see goodbye
}
