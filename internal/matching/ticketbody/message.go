package ticketbody

import (
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	openmatch "github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/match"
)

// FieldsOf returns the fields that pools filter by. A missing message has no fields. The result shares memory with the
// message.
func FieldsOf(s *openmatch.SearchFields) match.Fields {
	return match.Fields{Doubles: s.GetDoubleArgs(), Strings: s.GetStringArgs(), Tags: s.GetTags()}
}

// EncodeWithin encodes a message for the store. The result is never nil. Errors: it has more than limit bytes.
func EncodeWithin(limit int, what string, m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{}.MarshalAppend([]byte{}, m)
	if err == nil && len(b) > limit {
		return nil, match.Invalid(fmt.Sprintf("%s has %d bytes, more than the %d that are allowed", what, len(b),
			limit))
	}
	return b, err
}

// Stamper returns a function that adds an id and a creation time, in the fields of these numbers, to an encoded
// message. Concatenated protobuf messages are merged, so the message is encoded once, before its id is known.
func Stamper(rest []byte, id, createTime protowire.Number) func(id string, created time.Time) []byte {
	return func(text string, created time.Time) []byte {
		b := make([]byte, 0, len(text)+len(rest)+32)
		b = protowire.AppendString(protowire.AppendTag(b, id, protowire.BytesType), text)
		return appendTime(append(b, rest...), createTime, created)
	}
}

func appendTime(b []byte, field protowire.Number, at time.Time) []byte {
	const seconds, nanos = 1, 2
	stamp := make([]byte, 0, 2*(1+binary.MaxVarintLen64))
	stamp = protowire.AppendVarint(protowire.AppendTag(stamp, seconds, protowire.VarintType), uint64(at.Unix()))
	if n := at.Nanosecond(); n != 0 {
		stamp = protowire.AppendVarint(protowire.AppendTag(stamp, nanos, protowire.VarintType), uint64(n))
	}
	return AppendMessage(b, field, stamp)
}

// AppendMessage appends an encoded message as a field of another.
func AppendMessage(b []byte, field protowire.Number, encoded []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), encoded)
}

// Raw makes a message whose encoding is encoded, without decoding it: protobuf keeps unknown fields as they are. The
// fields of the result cannot be read here.
func Raw[M proto.Message](m M, encoded []byte) M {
	m.ProtoReflect().SetUnknown(encoded)
	return m
}
