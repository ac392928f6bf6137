package openmatch

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

const (
	// readingBytes is what a query takes of the memory for answers while it reads: the rows, and the pages that they become.
	readingBytes = 2 * db.QueryBytes
	// memoryWait is how long a query waits for that memory.
	memoryWait = 2 * time.Second
)

// errQueryMemory ends a query that finds the memory for answers taken.
var errQueryMemory = status.Error(codes.ResourceExhausted, "the answers of other queries take all the memory that this replica has for them (DIRECTOR_OM_QUERY_MEMORY): "+
	"read answers to the end or cancel them, and call again, another replica may have room")

// query is openmatch.QueryService.
type query struct {
	pb.UnimplementedQueryServiceServer
	*Server
}

// QueryTickets implements pb.QueryServiceServer. Tickets go from the store to the wire as they are: decoding ten thousand
// of them only to encode them again would take longer than finding them.
func (q query) QueryTickets(r *pb.QueryTicketsRequest, stream grpc.ServerStreamingServer[pb.QueryTicketsResponse]) error {
	return q.answer(stream, r.GetPool(), func(pool match.Pool) part {
		tickets := q.options.Store.QueryTickets(q.options.Region, pool, true)
		return partOf(tickets.Next, func(t db.QueriedTicket) []byte { return t.Body })
	})
}

// QueryTicketIds implements pb.QueryServiceServer.
func (q query) QueryTicketIds(r *pb.QueryTicketIdsRequest, stream grpc.ServerStreamingServer[pb.QueryTicketIdsResponse]) error {
	return q.answer(stream, r.GetPool(), func(pool match.Pool) part {
		tickets := q.options.Store.QueryTickets(q.options.Region, pool, false)
		return partOf(tickets.Next, func(t db.QueriedTicket) []byte { return []byte(t.ID) })
	})
}

// QueryBackfills implements pb.QueryServiceServer.
func (q query) QueryBackfills(r *pb.QueryBackfillsRequest, stream grpc.ServerStreamingServer[pb.QueryBackfillsResponse]) error {
	return q.answer(stream, r.GetPool(), func(pool match.Pool) part {
		return partOf(q.options.Store.QueryBackfills(q.options.Region, pool).Next, encodedBackfill)
	})
}

// part reads the next part of a query's answer and adds its items to pages. It adds none when there are no more.
type part func(ctx context.Context, to *pages) error

func partOf[T any](next func(context.Context) ([]T, error), item func(T) []byte) part {
	return func(ctx context.Context, to *pages) error {
		all, err := next(ctx)
		for _, t := range all {
			to.add(item(t))
		}
		return err
	}
}

// answer sends what is in the pool, part by part: a part is read when the client has taken nearly all of the one before.
func (q query) answer(stream grpc.ServerStream, asked *pb.Pool, open func(match.Pool) part) error {
	if asked == nil {
		return invalid(".pool is required")
	}
	pool := poolOf(asked)
	if err := pool.Check(); err != nil {
		return err
	}
	next, conn := open(pool), connOf(stream.Context())
	for {
		pages, err := q.read(stream.Context(), next, conn)
		if err != nil || len(pages) == 0 {
			return err
		}
		if err := sendPages(stream, pages); err != nil {
			return err
		}
	}
}

// read reads a part into pages, which keep their share of the memory for answers until they are taken.
func (q query) read(ctx context.Context, next part, conn *queueingConn) ([]*queuedAnswer, error) {
	if err := q.takeMemory(ctx); err != nil {
		return nil, err
	}
	p := pages{most: q.options.PageSize, bytes: maxPage}
	if conn != nil && conn.inside {
		p.bytes = maxInsidePage
	}
	err := next(ctx, &p)
	kept := int64(0)
	var answers []*queuedAnswer
	for _, page := range p.all() {
		a := &queuedAnswer{encoded: page, size: min(int64(len(page)), readingBytes-kept), room: q.Server.answers, queues: q.queues, conn: conn}
		kept += a.size
		answers = append(answers, a)
	}
	q.Server.answers.Release(readingBytes - kept)
	if err != nil {
		releaseAll(answers)
		return nil, err
	}
	return answers, nil
}

func (q query) takeMemory(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	if q.Server.answers.Acquire(waiting, readingBytes) == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return errQueryMemory
}

func sendPages(stream grpc.ServerStream, pages []*queuedAnswer) error {
	for i, page := range pages {
		page.queues.push(page)
		if err := stream.SendMsg(page); err != nil {
			releaseAll(pages[i+1:])
			return err
		}
		pages[i] = nil // the client's now
	}
	return nil
}

func releaseAll(answers []*queuedAnswer) {
	for _, a := range answers {
		a.release()
	}
}
