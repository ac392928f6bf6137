package openmatch

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// raw is a codec that takes messages that are already encoded, and leaves answers encoded: what a caller does with them
// would be measured as the director's work.
type raw struct{}

// Name implements encoding.CodecV2: for servers it is protobuf.
func (raw) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	encoded, isEncoded := v.([]byte)
	if !isEncoded {
		var err error
		if encoded, err = proto.Marshal(v.(proto.Message)); err != nil {
			return nil, err
		}
	}
	return mem.BufferSlice{mem.SliceBuffer(encoded)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	into, isBytes := v.(*[]byte)
	if !isBytes {
		return fmt.Errorf("%T does not take what is encoded", v)
	}
	*into = data.Materialize()
	return nil
}

// errPage means that an answer is not a list.
var errPage = errors.New("the page cannot be read")

// countFields counts the fields of an encoded message: the tickets of a page.
func countFields(message []byte) (n int, err error) {
	for len(message) > 0 {
		_, kind, size := protowire.ConsumeField(message)
		if size < 0 || kind != protowire.BytesType {
			return n, errPage
		}
		message, n = message[size:], n+1
	}
	return n, nil
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
