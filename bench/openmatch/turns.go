package openmatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

const (
	// assignTimeout is far longer than a player waits in a run.
	assignTimeout = 30 * time.Second
	// maxGroups is the most matches that a call assigns, and maxAssigns the most concurrent calls of a director.
	maxGroups, maxAssigns = 512, 2
)

// create creates a ticket that stays in the queue.
func (l *load) create(ctx context.Context, c *bench.Caller) error {
	own := &l.queued[c.Number]
	return c.Timed("create", func() error {
		// made before: encoding random tickets is not the director's work
		player := l.players[(c.Number+len(*own))%variety]
		created, err := l.connectionOf(c.Number).frontend.CreateTicket(ctx, player)
		if err == nil {
			*own = append(*own, created.GetId())
		}
		return err
	})
}

// queueForQuery queues the tickets that are queried.
func (l *load) queueForQuery(ctx context.Context) (err error) {
	l.pool = poolOf(l.tag)
	l.queued[0], err = l.queue(ctx, l.job.Options.Load.Tickets, l.tag)
	return err
}

// queryAll queries all waiting tickets, and counts them.
func (l *load) queryAll(ctx context.Context, c *bench.Caller) error {
	return c.Timed("query", func() error {
		n, err := l.connectionOf(c.Number).count(ctx, l.pool)
		if err == nil && n != l.job.Options.Load.Tickets {
			err = wrongAnswer("other tickets", "%d tickets came where %d wait", n, l.job.Options.Load.Tickets)
		}
		return err
	})
}

// count reads all pages of QueryTickets. It takes them for empty messages, whose unknown fields are the tickets:
// decoding them is the caller's work, and would be measured as the director's.
func (c *connection) count(ctx context.Context, pool *pb.Pool) (total int, err error) {
	stream, err := c.grpc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		pb.QueryService_QueryTickets_FullMethodName)
	if err == nil {
		err = stream.SendMsg(&pb.QueryTicketsRequest{Pool: pool})
	}
	if err == nil {
		err = stream.CloseSend()
	}
	for err == nil {
		var page emptypb.Empty
		err = stream.RecvMsg(&page)
		total += countFields(page.ProtoReflect().GetUnknown())
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return total, err
}

// countFields counts the fields of a message that was decoded, and is valid therefore.
func countFields(message []byte) (n int) {
	for ; len(message) > 0; n++ {
		_, _, size := protowire.ConsumeField(message)
		message = message[size:]
	}
	return n
}

// fetchAll queues tickets, which is not measured, then fetches and assigns all of them: a turn lasts until the last one
// is assigned. Matches are assigned while others still arrive.
func (l *load) fetchAll(ctx context.Context, c *bench.Caller) error {
	tag := l.tag + "-" + rand.Text() // turns share cycles but no tickets, not even with a turn that failed
	var ids []string
	err := c.Unmeasured(func() (err error) {
		ids, err = l.queue(ctx, l.job.Options.Load.Tickets, tag)
		return err
	})
	if err != nil {
		return err
	}
	a := newAssigner(ctx, l.connectionOf(c.Number))
	err = c.Timed("matched", func() error { return a.fetch(ctx, l.config, tag) })
	err = errors.Join(err, c.Timed("and assigned", func() error { return a.calls.Wait() }))
	if n := a.assigned.Load(); err == nil && n != int64(l.job.Options.Load.Tickets) {
		err = wrongAnswer("not all assigned", "%d tickets of %d", n, l.job.Options.Load.Tickets)
	}
	if err != nil { // an assigned ticket needs no deleting
		l.queued[c.Number] = append(l.queued[c.Number], ids...)
	}
	return err
}

// assigner assigns matches while others still arrive.
type assigner struct {
	conn     *connection
	calls    errgroup.Group  // one that fails does not end the others
	ctx      context.Context // of its calls
	assigned atomic.Int64    // tickets
}

// newAssigner makes an assigner whose calls end with ctx.
func newAssigner(ctx context.Context, conn *connection) *assigner {
	a := &assigner{conn: conn, ctx: ctx}
	a.calls.SetLimit(maxAssigns)
	return a
}

// fetch begins to assign the matches of a cycle, in groups of maxGroups. It returns when the last has arrived.
func (a *assigner) fetch(ctx context.Context, config *pb.FunctionConfig, tag string) error {
	profile := &pb.MatchProfile{Name: tag, Pools: []*pb.Pool{poolOf(tag)}}
	stream, err := a.conn.backend.FetchMatches(ctx, &pb.FetchMatchesRequest{Config: config, Profile: profile})
	if err != nil {
		return err
	}
	var groups []*pb.AssignmentGroup
	for {
		answer, err := stream.Recv()
		if err == nil {
			groups = append(groups, groupOf(answer.GetMatch()))
		}
		// at the end, or after an error, also the rest: what was fetched is reserved for us until it is assigned
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
	answer, err := a.conn.backend.AssignTickets(a.ctx, &pb.AssignTicketsRequest{Assignments: groups})
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

// direct fetches and assigns without a pause until the run is over. A failed fetch is an error of the run.
func (l *load) direct(ctx context.Context) error {
	conn, err := l.connect(l.job.Options.URLs[0])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	a := newAssigner(ctx, conn)
	var directing errgroup.Group
	directing.Go(func() error {
		for ctx.Err() == nil {
			if err := a.fetch(ctx, l.config, l.tag); err != nil && ctx.Err() == nil {
				return err
			}
		}
		return nil // the end of the run cancelled the last fetch
	})
	l.job.OnEnd(func() error {
		stop()
		err := directing.Wait()
		_ = a.calls.Wait() // its calls were cancelled
		return err
	})
	return nil
}

// liveOnce queues a player and waits for the assignment.
func (l *load) liveOnce(ctx context.Context, c *bench.Caller) error {
	conn, id := l.connectionOf(c.Number), ""
	err := c.Timed("create", func() error {
		created, err := conn.frontend.CreateTicket(ctx, newTicket(l.tag))
		id = created.GetId()
		return err
	})
	if err != nil {
		return err
	}
	err = c.Timed("and assigned", func() error { return awaitAssignment(ctx, conn, id) })
	if err != nil {
		l.queued[c.Number] = append(l.queued[c.Number], id)
	}
	return err
}

// awaitAssignment waits for the first assignment of a ticket.
func awaitAssignment(ctx context.Context, conn *connection, id string) error {
	ctx, cancel := context.WithTimeout(ctx, assignTimeout)
	defer cancel()
	stream, err := conn.frontend.WatchAssignments(ctx, &pb.WatchAssignmentsRequest{TicketId: id})
	if err == nil {
		_, err = stream.Recv()
	}
	return err
}

// watchIdly opens streams of WatchAssignments without messages until the run is over, on as many additional connections
// as callers have. At the end all their tickets are assigned, which checks that the streams were open all the time.
func (l *load) watchIdly(ctx context.Context) error {
	ids, err := l.queue(ctx, l.job.Options.Load.Watchers, l.tag+"-idle")
	if err != nil {
		return err
	}
	conns, err := l.connectEach()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var notified atomic.Int64
	var listening sync.WaitGroup
	l.job.OnEnd(func() error {
		defer stop()
		if err := assignAll(conns[0], ids, stop); err != nil {
			return err
		}
		listening.Wait()
		if n := notified.Load(); n < int64(len(ids)) {
			return fmt.Errorf("%d of %d watchers got their assignment", n, len(ids))
		}
		return nil
	})
	return bench.Concurrently(ctx, len(ids), maxConcurrent, func(_ context.Context, i int) error {
		frontend := conns[i%len(conns)].frontend
		stream, err := frontend.WatchAssignments(ctx, &pb.WatchAssignmentsRequest{TicketId: ids[i]}) // until stop
		if err != nil {
			return err
		}
		listening.Go(func() {
			if _, err := stream.Recv(); err == nil {
				notified.Add(1)
			}
		})
		return nil
	})
}

// assignAll assigns tickets, and stops the streams if they do not learn of it in time.
func assignAll(conn *connection, ids []string, stop func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), assignTimeout)
	defer cancel()
	_, err := conn.backend.AssignTickets(ctx, &pb.AssignTicketsRequest{Assignments: []*pb.AssignmentGroup{
		{TicketIds: ids, Assignment: &pb.Assignment{Connection: "idle.invalid:7777"}},
	}})
	if err != nil {
		stop()
		return fmt.Errorf("watchers cannot be assigned: %w", err)
	}
	time.AfterFunc(assignTimeout, stop)
	return nil
}
