package openmatch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// assignTimeout is far longer than a player waits in a run.
const assignTimeout = 30 * time.Second

// watchers are streams of WatchAssignments without messages until the run is over.
type watchers struct {
	ids   []string
	conns []*connection

	stop    context.CancelFunc
	running sync.WaitGroup
	told    atomic.Int64
}

// watchIdly opens the streams, on as many additional connections as callers have.
func (l *load) watchIdly(ctx context.Context) (err error) {
	w := &watchers{}
	if w.ids, err = l.queue(ctx, l.Watchers, l.tag+"-idle"); err != nil {
		return err
	}
	for n := range l.Connections {
		conn, err := l.connect(l.URLs[n%len(l.URLs)])
		if err != nil {
			return err
		}
		w.conns = append(w.conns, conn)
	}
	ctx, w.stop = context.WithCancel(ctx)
	l.onClose(w.close)
	return w.open(ctx)
}

func (w *watchers) open(ctx context.Context) error {
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	for i, id := range w.ids {
		group.Go(func() error {
			stream, err := w.conns[i%len(w.conns)].frontend.WatchAssignments(ctx,
				&pb.WatchAssignmentsRequest{TicketId: id})
			if err == nil {
				w.running.Go(func() { w.listen(stream) })
			}
			return err
		})
	}
	return group.Wait()
}

func (w *watchers) listen(stream pb.FrontendService_WatchAssignmentsClient) {
	if _, err := stream.Recv(); err == nil {
		w.told.Add(1)
	}
}

// close assigns all the tickets, and so checks that their streams were open all the time.
func (w *watchers) close() error {
	defer w.stop()
	ctx, cancel := context.WithTimeout(context.Background(), assignTimeout)
	defer cancel()
	_, err := w.conns[0].backend.AssignTickets(ctx, &pb.AssignTicketsRequest{Assignments: []*pb.AssignmentGroup{
		{TicketIds: w.ids, Assignment: &pb.Assignment{Connection: "idle.invalid:7777"}},
	}})
	if err != nil {
		return fmt.Errorf("watchers cannot be assigned: %w", err)
	}
	context.AfterFunc(ctx, w.stop)
	w.running.Wait()
	if told := w.told.Load(); told < int64(len(w.ids)) {
		return fmt.Errorf("%d of %d watchers got their assignment", told, len(w.ids))
	}
	return nil
}
