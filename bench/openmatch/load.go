package openmatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

// load is a run in progress.
type load struct {
	job     *bench.Job
	tag     string // of all its tickets
	conns   []*connection
	players []*pb.CreateTicketRequest // who are queued again and again
	queued  [][]string                // ids of tickets that callers have left in the queue, by caller
	pool    *pb.Pool                  // of query
	config  *pb.FunctionConfig        // address of its match function
}

const (
	// window is the flow-control window of a call and of a connection, in bytes, the same as a director's.
	window = 1 << 20
	// variety is the number of different players.
	variety = 1024
	// maxConcurrent is the number of concurrent calls that prepare a run or delete its tickets.
	maxConcurrent = 256
	// deleteTimeout bounds deleting the tickets. The others stay in the queue until they expire.
	deleteTimeout = 30 * time.Second
)

// connection is a connection to a replica, which several callers share.
type connection struct {
	grpc     *grpc.ClientConn
	frontend pb.FrontendServiceClient
	backend  pb.BackendServiceClient
	query    pb.QueryServiceClient
}

// connectAll makes the connections, spread over the replicas, and the players.
func (l *load) connectAll(ctx context.Context) (err error) {
	if l.conns, err = l.connectEach(); err != nil {
		return err
	}
	for range variety { // few enough to keep, and enough that rows differ
		l.players = append(l.players, newTicket(l.tag))
	}
	// ends run in reverse: it still has the connections, which end behind it
	l.job.OnEnd(func() error {
		if !l.job.Options.KeepsQueue {
			l.deleteTickets(ctx, slices.Concat(l.queued...))
		}
		return nil
	})
	return nil
}

// connectEach makes as many connections as the load has, spread over the replicas.
func (l *load) connectEach() ([]*connection, error) {
	conns := make([]*connection, l.job.Options.Load.Connections)
	for n := range conns {
		var err error
		if conns[n], err = l.connect(l.job.Options.URLs[n%len(l.job.Options.URLs)]); err != nil {
			return nil, err
		}
	}
	return conns, nil
}

// connect makes a connection that lasts until the end of the run.
func (l *load) connect(addr string) (*connection, error) {
	// grpc-go's defaults except for the windows: dynamic windows cost a ping in both directions for nearly every call
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window)}
	if l.job.Options.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(l.job.Options.Token)))
	}
	conn, err := grpc.NewClient(addr, options...)
	if err != nil {
		return nil, fmt.Errorf("%s is no address to connect to: %w", addr, err)
	}
	l.job.OnEnd(conn.Close)
	return &connection{conn, pb.NewFrontendServiceClient(conn), pb.NewBackendServiceClient(conn),
		pb.NewQueryServiceClient(conn)}, nil
}

// connectionOf returns a caller's connection.
func (l *load) connectionOf(caller int) *connection { return l.conns[caller%len(l.conns)] }

// bearer sends the token with each call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Loads run in trusted networks.
func (bearer) RequireTransportSecurity() bool { return false }

// wrongAnswer is the failure of a call with an unexpected answer.
func wrongAnswer(kind, format string, args ...any) error {
	return &bench.Failure{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// newTicket is a ticket of about 150 bytes, with two terms and two doubles as search fields, as a small game has.
func newTicket(tag string) *pb.CreateTicketRequest {
	return &pb.CreateTicketRequest{Ticket: &pb.Ticket{SearchFields: &pb.SearchFields{
		Tags:       []string{tag},
		StringArgs: map[string]string{"mode": "duel"},
		DoubleArgs: map[string]float64{"skill": rand.Float64() * 3000, "latency": rand.Float64() * 200},
	}}}
}

// poolOf is the pool of all tickets with the tag.
func poolOf(tag string) *pb.Pool {
	return &pb.Pool{Name: tag, TagPresentFilters: []*pb.TagPresentFilter{{Tag: tag}}}
}

// queue creates n tickets. When it fails, it deletes those that it has created.
func (l *load) queue(ctx context.Context, n int, tag string) (ids []string, err error) {
	ids = make([]string, n)
	err = bench.Concurrently(ctx, n, maxConcurrent, func(ctx context.Context, i int) error {
		created, err := l.connectionOf(i).frontend.CreateTicket(ctx, newTicket(tag))
		ids[i] = created.GetId()
		return err
	})
	if err != nil {
		l.deleteTickets(ctx, ids)
		return nil, fmt.Errorf("tickets cannot be queued: %w", err)
	}
	return ids, nil
}

// deleteTickets deletes the tickets that still wait, also after ctx has ended. Ids without a ticket, such as "", are
// allowed.
func (l *load) deleteTickets(ctx context.Context, ids []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	_ = bench.Concurrently(ctx, len(ids), maxConcurrent, func(ctx context.Context, i int) error {
		_, _ = l.connectionOf(i).frontend.DeleteTicket(ctx, &pb.DeleteTicketRequest{TicketId: ids[i]})
		return nil // see deleteTimeout
	})
}
