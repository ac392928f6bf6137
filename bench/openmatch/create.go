package openmatch

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

// variety is the number of different players, who are queued again and again.
const variety = 1024

// encodePlayers encodes the tickets before the run, so that encoding is not measured.
func (l *load) encodePlayers() error {
	for range variety {
		b, err := proto.Marshal(newTicket(l.tag))
		if err != nil {
			return err
		}
		l.players = append(l.players, b)
	}
	return nil
}

// create creates a ticket that stays in the queue.
func (l *load) create(ctx context.Context, t bench.Turn) error {
	mine := &l.queued[t.Caller()]
	return t.Timed("create", func() error {
		var answer []byte
		player := l.players[(t.Caller()+len(*mine))%variety]
		err := l.of(t.Caller()).Invoke(ctx, pb.FrontendService_CreateTicket_FullMethodName, player, &answer,
			grpc.ForceCodecV2(encoded{}))
		if err != nil {
			return counted(err)
		}
		id := idOf(answer)
		if id == "" {
			return wrong("no ticket", "the answer to a ticket that was created has no id")
		}
		*mine = append(*mine, id)
		return nil
	})
}

// idOf returns the id in an encoded ticket; "" when there is none, or when it is not a ticket.
func idOf(ticket []byte) (id string) {
	for len(ticket) > 0 {
		field, kind, tag := protowire.ConsumeTag(ticket)
		if tag < 0 {
			return ""
		}
		size := protowire.ConsumeFieldValue(field, kind, ticket[tag:])
		if size < 0 {
			return ""
		}
		if field == 1 && kind == protowire.BytesType {
			id, _ = protowire.ConsumeString(ticket[tag:])
		}
		ticket = ticket[tag+size:]
	}
	return id
}

// encoded is a codec for messages that are already encoded.
type encoded struct{}

// Marshal implements encoding.CodecV2.
func (encoded) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is not encoded", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (encoded) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T does not take what is encoded", v)
	}
	*b = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2: for servers it is protobuf.
func (encoded) Name() string { return "proto" }
