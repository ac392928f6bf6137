package ticketbody

import (
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/match"
)

// EncodeWithin encodes a message for the store; what names the message in an error. The result is never nil. Errors:
// the encoded message has more than limit bytes.
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
func Stamper(rest []byte, idField, timeField protowire.Number) func(id string, created time.Time) []byte {
	return func(id string, created time.Time) []byte {
		const added = 32 // bytes, at most: the tags and lengths of both fields, and the time
		b := make([]byte, 0, len(id)+len(rest)+added)
		b = protowire.AppendString(protowire.AppendTag(b, idField, protowire.BytesType), id)
		return appendTime(append(b, rest...), timeField, created)
	}
}

// appendTime appends a time as a google.protobuf.Timestamp in a field.
func appendTime(b []byte, field protowire.Number, at time.Time) []byte {
	const seconds, nanos = 1, 2 // the numbers of its fields
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
