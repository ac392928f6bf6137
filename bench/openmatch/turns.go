package openmatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

const (
	// assignTimeout is far longer than a player waits in a run.
	assignTimeout = 30 * time.Second
	// maxGroups is the most matches that a call assigns, and maxAssigns the most concurrent AssignTickets calls of an
	// assigner.
	maxGroups, maxAssigns = 512, 2
)

// create creates a ticket that stays in the queue.
func (l *load) create(ctx context.Context, c *bench.Caller) error {
	_, err := l.queuePlayer(ctx, c)
	return err
}

// queuePlayer creates the ticket of a new player.
func (l *load) queuePlayer(ctx context.Context, c *bench.Caller) (id string, err error) {
	player := l.newTicket(l.tag) // before the call: random numbers are not the director's work
	err = c.Timed("create", func() error {
		created, err := l.frontendOf(c.Number).CreateTicket(ctx, player)
		id = created.GetId()
		return err
	})
	return id, err
}

// queueForQuery queues the tickets that are queried.
func (l *load) queueForQuery(ctx context.Context) error {
	_, err := l.queue(ctx, l.job.Options.Load.Tickets, l.tag)
	return err
}

// queryAll queries all waiting tickets, and counts them.
func (l *load) queryAll(ctx context.Context, c *bench.Caller) error {
	return c.Timed("query", func() error {
		n, err := countTickets(ctx, l.connectionOf(c.Number), poolOf(l.tag))
		if err == nil && n != l.job.Options.Load.Tickets {
			err = wrongAnswer("other tickets", "%d tickets came where %d wait", n, l.job.Options.Load.Tickets)
		}
		return err
	})
}

// wrongAnswer is the failure of a call with an unexpected answer.
func wrongAnswer(kind, format string, args ...any) error {
	return &bench.Failure{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// fetchAll queues tickets, which is not measured, then fetches and assigns all of them: a turn lasts until the last one
// is assigned. Matches are assigned while others still arrive.
func (l *load) fetchAll(ctx context.Context, c *bench.Caller) error {
	tag := l.tag + "-" + rand.Text() // turns share cycles but no tickets, not even with a turn that failed
	err := c.Unmeasured(func() error {
		_, err := l.queue(ctx, l.job.Options.Load.Tickets, tag)
		return err
	})
	if err != nil {
		return err
	}
	a := newAssigner(ctx, l.connectionOf(c.Number))
	err = c.Timed("matched", func() error { return a.fetch(l.functionConfig, tag) })
	err = errors.Join(err, c.Timed("and assigned", func() error { return a.calls.Wait() }))
	if n := a.assigned.Load(); err == nil && n != int64(l.job.Options.Load.Tickets) {
		err = wrongAnswer("not all assigned", "%d tickets of %d", n, l.job.Options.Load.Tickets)
	}
	return err
}

// assigner assigns matches while others still arrive.
type assigner struct {
	ctx      context.Context // of its calls
	backend  pb.BackendServiceClient
	calls    errgroup.Group // one that fails does not end the others
	assigned atomic.Int64   // tickets
}

// newAssigner makes an assigner whose calls end with ctx.
func newAssigner(ctx context.Context, conn *grpc.ClientConn) *assigner {
	a := &assigner{ctx: ctx, backend: pb.NewBackendServiceClient(conn)}
	a.calls.SetLimit(maxAssigns)
	return a
}

// fetch begins to assign the matches of a cycle, in groups of maxGroups. It returns when the last has arrived.
func (a *assigner) fetch(config *pb.FunctionConfig, tag string) error {
	profile := &pb.MatchProfile{Name: tag, Pools: []*pb.Pool{poolOf(tag)}}
	stream, err := a.backend.FetchMatches(a.ctx, &pb.FetchMatchesRequest{Config: config, Profile: profile})
	if err != nil {
		return err
	}
	var groups []*pb.AssignmentGroup
	for {
		answer, err := stream.Recv()
		if err == nil {
			groups = append(groups, groupOf(answer.GetMatch()))
		}
		// At the end, or after an error, the rest is assigned as well: fetched tickets are reserved for this run until then.
		if len(groups) == maxGroups || err != nil && len(groups) > 0 {
			some := groups
			a.calls.Go(func() error { return a.assign(some) })
			groups = nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// groupOf assigns the players of a match to an address of their own.
func groupOf(m *pb.Match) *pb.AssignmentGroup {
	group := &pb.AssignmentGroup{Assignment: &pb.Assignment{Connection: m.GetMatchId() + ".invalid:7777"}}
	for _, t := range m.GetTickets() {
		group.TicketIds = append(group.TicketIds, t.GetId())
	}
	return group
}

// assign assigns groups with one call. A ticket that is gone is a failure: nobody else deletes tickets of the run.
func (a *assigner) assign(groups []*pb.AssignmentGroup) error {
	answer, err := a.backend.AssignTickets(a.ctx, &pb.AssignTicketsRequest{Assignments: groups})
	if err != nil {
		return err
	}
	if n := len(answer.GetFailures()); n > 0 {
		return wrongAnswer("not assigned", "%d tickets of a match were not there", n)
	}
	for _, g := range groups {
		a.assigned.Add(int64(len(g.GetTicketIds())))
	}
	return nil
}

// fetchAndAssign plays the Open Match director: it fetches and assigns matches without a pause, beside the load. A
// failed fetch is an error of the run.
func (l *load) fetchAndAssign(ctx context.Context) error {
	conn, err := l.connect(l.job.Options.URLs[0])
	if err != nil {
		return err
	}
	l.job.Beside(ctx, func(ctx context.Context) (err error) {
		a := newAssigner(ctx, conn)
		for err == nil {
			err = a.fetch(l.functionConfig, l.tag)
		}
		_ = a.calls.Wait() // the end of the load cancels them
		return err
	})
	return nil
}

// queueAndAwait queues a player and waits for the assignment.
func (l *load) queueAndAwait(ctx context.Context, c *bench.Caller) error {
	id, err := l.queuePlayer(ctx, c)
	if err != nil {
		return err
	}
	return c.Timed("and assigned", func() error {
		ctx, cancel := context.WithTimeout(ctx, assignTimeout)
		defer cancel()
		stream, err := l.frontendOf(c.Number).WatchAssignments(ctx, &pb.WatchAssignmentsRequest{TicketId: id})
		if err != nil {
			return err
		}
		_, err = stream.Recv() // the first assignment
		return err
	})
}

// watchIdly opens streams of WatchAssignments without messages beside the load, on as many additional connections as
// callers have. A stream that ends before is an error of the run.
func (l *load) watchIdly(ctx context.Context) error {
	ids, err := l.queue(ctx, l.job.Options.Load.Watchers, l.tag+"-idle")
	if err != nil {
		return err
	}
	conns, err := l.connectAll()
	if err != nil {
		return err
	}
	// The streams have the context of the load: that of Concurrently ends as soon as all of them are open.
	return bench.Concurrently(ctx, len(ids), maxConcurrent, func(_ context.Context, i int) error {
		frontend := pb.NewFrontendServiceClient(conns[i%len(conns)])
		stream, err := frontend.WatchAssignments(ctx, &pb.WatchAssignmentsRequest{TicketId: ids[i]})
		if err != nil {
			return err
		}
		l.job.Beside(ctx, func(context.Context) error {
			answer, err := stream.Recv()
			if err != nil {
				return fmt.Errorf("a watcher was not idle: its stream ended: %w", err)
			}
			return fmt.Errorf("a watcher was not idle: it received %v", answer.GetAssignment())
		})
		return nil
	})
}
