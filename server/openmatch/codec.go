package openmatch

import (
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// queueingCodec is protobuf for messages and for queued answers.
type queueingCodec struct{ encoding.CodecV2 }

func newQueueingCodec() queueingCodec { return queueingCodec{encoding.GetCodecV2(protocodec.Name)} }

// Marshal implements [encoding.CodecV2].
func (c queueingCodec) Marshal(v any) (mem.BufferSlice, error) {
	a, ok := v.(*queuedAnswer)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	if a.message != nil {
		var err error
		if a.encoded, err = encodedOf(a.message, int(a.byteCount)); err != nil {
			return nil, err
		}
		a.message = nil // so that it is freed before its bytes
	}
	a.isSent = true
	if mem.IsBelowBufferPoolingThreshold(cap(a.encoded)) {
		a.releaseMemory() // gRPC does not report when it frees small buffers
	}
	return mem.BufferSlice{mem.NewBuffer(&a.encoded, a)}, nil
}

// encodedOf encodes a message of size bytes. A message made by ticketbody.Raw is already encoded.
func encodedOf(m proto.Message, size int) ([]byte, error) {
	if encoded := m.ProtoReflect().GetUnknown(); len(encoded) == size {
		return encoded, nil
	}
	return proto.Marshal(m)
}
