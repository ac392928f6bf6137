package openmatch

import (
	"context"
	"crypto/rand"
	"errors"
	"io"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

// fetchAll queues tickets, which is not measured, then fetches and assigns all of them: a turn lasts until the last one
// is assigned. Matches are assigned while others still arrive.
func (l *load) fetchAll(ctx context.Context, t bench.Turn) error {
	tag := l.tag + "-" + rand.Text() // turns share cycles but no tickets, not even with a turn that failed
	var ids []string
	err := t.Unmeasured(func() (err error) {
		ids, err = l.queue(ctx, l.Tickets, tag)
		return err
	})
	if err != nil {
		return err
	}
	conn := l.of(t.Caller())
	a := newAssigner(ctx, conn)
	err = t.Timed("matched", func() error { return counted(l.matches(ctx, conn, tag, a.add)) })
	err = errors.Join(err, t.Timed("and assigned", func() error { return counted(a.finish()) }))
	if n := a.assigned.Load(); err == nil && n != int64(l.Tickets) {
		err = wrong("not all assigned", "%d tickets of %d", n, l.Tickets)
	}
	if err != nil {
		l.queued[t.Caller()] = append(l.queued[t.Caller()], ids...)
	}
	return err
}

// matches passes the matches of a cycle to take.
func (l *load) matches(ctx context.Context, conn *connection, tag string, take func(*pb.Match)) error {
	stream, err := conn.backend.FetchMatches(ctx, &pb.FetchMatchesRequest{
		Config: l.config, Profile: &pb.MatchProfile{Name: tag, Pools: []*pb.Pool{poolOf(tag, 0)}},
	})
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
		take(got.GetMatch())
	}
}

// direct fetches and assigns without a pause until the run is over. A failed fetch is an error of the run.
func (l *load) direct(ctx context.Context) error {
	if err := l.serveFunction(ctx); err != nil {
		return err
	}
	conn, err := l.connect(l.URLs[0])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	a, stopped := newAssigner(ctx, conn), make(chan error, 1)
	go func() {
		var err error
		for err == nil && ctx.Err() == nil {
			err = l.matches(ctx, conn, l.tag, a.add)
		}
		if ctx.Err() != nil {
			err = nil // the end of the run cancelled it
		}
		stopped <- err
	}()
	l.onClose(func() error {
		stop()
		err := <-stopped
		_ = a.finish() // its calls were cancelled
		return err
	})
	return nil
}

// live queues a player and waits for the assignment.
func (l *load) live(ctx context.Context, t bench.Turn) error {
	conn := l.of(t.Caller())
	var id string
	err := t.Timed("create", func() error {
		got, err := conn.frontend.CreateTicket(ctx, newTicket(l.tag))
		id = got.GetId()
		return counted(err)
	})
	if err != nil {
		return err
	}
	err = t.Timed("and assigned", func() error { return counted(firstAssignment(ctx, conn, id)) })
	if err != nil {
		l.queued[t.Caller()] = append(l.queued[t.Caller()], id)
	}
	return err
}

func firstAssignment(ctx context.Context, conn *connection, id string) error {
	ctx, cancel := context.WithTimeout(ctx, assignTimeout)
	defer cancel()
	stream, err := conn.frontend.WatchAssignments(ctx, &pb.WatchAssignmentsRequest{TicketId: id})
	if err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}
