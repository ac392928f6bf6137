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
	// maxConcurrent is the number of concurrent calls that prepare a run or delete its tickets.
	maxConcurrent = 256
	// deleteTimeout bounds deleting the tickets. The others stay in the queue until they expire.
	deleteTimeout = 30 * time.Second
)

// newTicket is a ticket of about 150 bytes, with two terms and two doubles as search fields, as a small game has.
func newTicket(tag string) *pb.CreateTicketRequest {
	return &pb.CreateTicketRequest{Ticket: &pb.Ticket{SearchFields: &pb.SearchFields{
		Tags:       []string{tag},
		StringArgs: map[string]string{"mode": "duel"},
		DoubleArgs: map[string]float64{"skill": rand.Float64() * 3000, "latency": rand.Float64() * 200},
	}}}
}

// poolOf is the pool of all tickets with the tag. An echo answers as many tickets as its name says.
func poolOf(tag string, n int) *pb.Pool {
	return &pb.Pool{Name: fmt.Sprint(n), TagPresentFilters: []*pb.TagPresentFilter{{Tag: tag}}}
}

// queue creates n tickets. When it fails, it deletes those that it has created.
func (l *load) queue(ctx context.Context, n int, tag string) (ids []string, err error) {
	ids = make([]string, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
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

// takeBack deletes the tickets that still wait, also after ctx has ended. Ids without a ticket, such as "", are
// allowed.
func (l *load) takeBack(ctx context.Context, ids []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	for i, id := range ids {
		group.Go(func() error {
			_, err := l.of(i).frontend.DeleteTicket(ctx, &pb.DeleteTicketRequest{TicketId: id})
			return err
		})
	}
	_ = group.Wait() // see deleteTimeout
}
