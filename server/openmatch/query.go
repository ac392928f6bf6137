package openmatch

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// query is openmatch.QueryService.
type query struct {
	pb.UnimplementedQueryServiceServer
	*Server
}

// QueryTickets implements pb.QueryServiceServer. Tickets go from the store to the wire as they are: decoding ten thousand
// of them only to encode them again would take longer than finding them.
func (q query) QueryTickets(r *pb.QueryTicketsRequest, stream grpc.ServerStreamingServer[pb.QueryTicketsResponse]) error {
	return answer(stream, q.options.PageSize, r.GetPool(), func(ctx context.Context, pool match.Pool, add func([]byte)) error {
		return q.options.Store.QueryTickets(ctx, q.options.Region, pool, true, func(_ string, body []byte) error {
			add(body)
			return nil
		})
	})
}

// QueryTicketIds implements pb.QueryServiceServer.
func (q query) QueryTicketIds(r *pb.QueryTicketIdsRequest, stream grpc.ServerStreamingServer[pb.QueryTicketIdsResponse]) error {
	return answer(stream, q.options.PageSize, r.GetPool(), func(ctx context.Context, pool match.Pool, add func([]byte)) error {
		return q.options.Store.QueryTickets(ctx, q.options.Region, pool, false, func(id string, _ []byte) error {
			add([]byte(id))
			return nil
		})
	})
}

// QueryBackfills implements pb.QueryServiceServer.
func (q query) QueryBackfills(r *pb.QueryBackfillsRequest, stream grpc.ServerStreamingServer[pb.QueryBackfillsResponse]) error {
	return answer(stream, q.options.PageSize, r.GetPool(), func(ctx context.Context, pool match.Pool, add func([]byte)) error {
		return q.options.Store.QueryBackfills(ctx, q.options.Region, pool, func(b db.Backfill) error {
			add(encodedBackfill(b))
			return nil
		})
	})
}

// answer sends what read finds in the pool, in pages.
func answer[R any, M interface {
	*R
	proto.Message
}](
	stream grpc.ServerStreamingServer[R], pageSize int, asked *pb.Pool, read func(ctx context.Context, pool match.Pool, add func([]byte)) error,
) error {
	if asked == nil {
		return invalid(".pool is required")
	}
	pool := poolOf(asked)
	if err := pool.Check(); err != nil {
		return err
	}
	p := pages{most: pageSize}
	if err := read(stream.Context(), pool, p.add); err != nil {
		return err
	}
	for _, page := range p.all() {
		if err := stream.Send(raw(M(new(R)), page)); err != nil {
			return err
		}
	}
	return nil
}
