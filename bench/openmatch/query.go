package openmatch

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

// queueForQuery queues the tickets that are queried.
func (l *load) queueForQuery(ctx context.Context) error {
	l.pool = poolOf(l.tag, l.Tickets)
	ids, err := l.queue(ctx, l.Tickets, l.tag)
	l.queued[0] = ids
	return err
}

// queryAll queries all waiting tickets, and counts them without decoding: decoding is the caller's work, and would be
// measured as the director's.
func (l *load) queryAll(ctx context.Context, t bench.Turn) error {
	return t.Timed(query, func() error {
		n, err := l.of(t.Caller()).count(ctx, l.pool)
		if err == nil && n != l.Tickets {
			err = wrong("other tickets", "%d tickets came where %d wait", n, l.Tickets)
		}
		return counted(err)
	})
}

// count reads all pages of QueryTickets.
func (c *connection) count(ctx context.Context, pool *pb.Pool) (total int, err error) {
	stream, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, pb.QueryService_QueryTickets_FullMethodName,
		grpc.ForceCodecV2(counting{}))
	if err != nil {
		return 0, err
	}
	if err := stream.SendMsg(&pb.QueryTicketsRequest{Pool: pool}); err != nil {
		return 0, err
	}
	if err := stream.CloseSend(); err != nil {
		return 0, err
	}
	for {
		var page int
		if err := stream.RecvMsg(&page); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return total, err
		}
		total += page
	}
}

// counting is a codec that writes requests as they are, and of an answer only counts the fields: the tickets of a page.
type counting struct{}

// Name implements encoding.CodecV2: on the wire it is protobuf.
func (counting) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (counting) Marshal(v any) (mem.BufferSlice, error) {
	text, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(text)}, err
}

// errPage means that an answer is not a list.
var errPage = errors.New("the page cannot be read")

// Unmarshal implements encoding.CodecV2. Each ticket is a tag, a length and that many bytes.
func (counting) Unmarshal(data mem.BufferSlice, v any) error {
	page := data.Materialize()
	count := v.(*int)
	for len(page) > 0 {
		_, tag := binary.Uvarint(page)
		if tag <= 0 {
			return errPage
		}
		length, n := binary.Uvarint(page[tag:])
		if n <= 0 || length > uint64(len(page)-tag-n) {
			return errPage
		}
		page = page[tag+n+int(length):]
		*count++
	}
	return nil
}
