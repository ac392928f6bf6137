package openmatch

import (
	"context"
	"errors"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// errQueryMemory ends a query that gets no share of the memory.
var errQueryMemory = status.Error(codes.ResourceExhausted,
	"the answers of other queries take all the memory that this replica has for them: "+
		"read answers to the end or cancel them, and call again, another replica may have room")

// query is openmatch.QueryService.
type query struct {
	pb.UnimplementedQueryServiceServer
	server *Server
}

// QueryTickets implements pb.QueryServiceServer. Tickets are sent as they are stored: decoding and encoding ten
// thousand tickets would take longer than finding them.
func (q query) QueryTickets(r *pb.QueryTicketsRequest,
	stream grpc.ServerStreamingServer[pb.QueryTicketsResponse]) error {
	limit := int64(r.GetLimit())
	// Callers of Open Match do not know the field, and send 0.
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return q.answerPool(stream, r.GetPool(), func(pool match.Pool) part {
		tickets := q.server.options.Store.QuerySomeTickets(q.server.options.Universe, pool, true, limit)
		return partOf(tickets.Next, func(t db.QueriedTicket) []byte { return t.Body })
	})
}

// QueryTicketIds implements pb.QueryServiceServer.
func (q query) QueryTicketIds(r *pb.QueryTicketIdsRequest,
	stream grpc.ServerStreamingServer[pb.QueryTicketIdsResponse]) error {
	return q.answerPool(stream, r.GetPool(), func(pool match.Pool) part {
		tickets := q.server.options.Store.QueryTickets(q.server.options.Universe, pool, false)
		return partOf(tickets.Next, func(t db.QueriedTicket) []byte { return []byte(t.ID) })
	})
}

// QueryBackfills implements pb.QueryServiceServer.
func (q query) QueryBackfills(r *pb.QueryBackfillsRequest,
	stream grpc.ServerStreamingServer[pb.QueryBackfillsResponse]) error {
	return q.answerPool(stream, r.GetPool(), func(pool match.Pool) part {
		return partOf(q.server.options.Store.QueryBackfills(q.server.options.Universe, pool).Next, encodedBackfill)
	})
}

// part reads the next part of a query's answer and adds its items to pages. It adds none when there are no more.
type part func(ctx context.Context, to *pages) error

func partOf[T any](next func(context.Context) ([]T, error), item func(T) []byte) part {
	return func(ctx context.Context, to *pages) error {
		all, err := next(ctx)
		for _, t := range all {
			to.addItem(item(t))
		}
		return err
	}
}

// answerPool sends the items of a pool, part by part. It reads a part when the client has taken nearly all of the one
// before.
func (q query) answerPool(stream grpc.ServerStream, message *pb.Pool, open func(match.Pool) part) error {
	if message == nil {
		return invalidError(".pool is required")
	}
	pool := poolOf(message)
	if err := pool.Check(); err != nil {
		return err
	}
	next, conn := open(pool), connOf(stream.Context())
	for {
		pages, err := q.readPart(stream.Context(), next, conn)
		if err != nil || len(pages) == 0 {
			return err
		}
		if err := sendPages(stream, pages); err != nil {
			return err
		}
	}
}

// readPart reads a part into pages. They hold their share of QueryMemory until the client has taken them.
func (q query) readPart(ctx context.Context, next part, conn *queueingConn) ([]*queuedAnswer, error) {
	// How large a part is shows only when it has been read, so the most that it may need is taken before.
	if err := q.server.takeMemory(ctx); err != nil {
		return nil, err
	}
	p := pages{maxItems: q.server.options.PageSize, maxBytes: maxPage}
	if conn != nil && conn.isGateway {
		p.maxBytes = maxGatewayPage
	}
	err := next(ctx, &p)
	held := int64(0)
	var answers []*queuedAnswer
	for _, page := range p.allPages() {
		a := &queuedAnswer{encoded: page, byteCount: min(int64(len(page)), readingBytes-held),
			memoryLeft: q.server.queryMemory, queues: q.server.sendQueues, conn: conn}
		held += a.byteCount
		answers = append(answers, a)
	}
	// The pages keep what they need until the client has taken them; the rest is free for other queries.
	q.server.queryMemory.Release(readingBytes - held)
	if err != nil {
		releaseAll(answers)
		return nil, err
	}
	return answers, nil
}

// takeMemory takes the share of QueryMemory that a reading holds.
func (s *Server) takeMemory(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	if s.queryMemory.Acquire(waiting, readingBytes) == nil {
		return nil
	}
	// Canceled means that the caller has left. Where the call's own deadline is over, the memory was the reason.
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return errQueryMemory
}

func sendPages(stream grpc.ServerStream, pages []*queuedAnswer) error {
	for i, page := range pages {
		// A connection whose client does not take a pushed page in time counts as slow.
		page.queues.pushAnswer(page)
		if err := stream.SendMsg(page); err != nil {
			// The page itself was released, or gRPC releases it.
			releaseAll(pages[i+1:])
			return err
		}
		pages[i] = nil // so that it is freed when the client has taken it
	}
	return nil
}

func releaseAll(answers []*queuedAnswer) {
	for _, a := range answers {
		a.releaseMemory()
	}
}
