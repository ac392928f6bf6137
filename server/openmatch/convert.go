package openmatch

import (
	"encoding/binary"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// fieldsOf returns the fields that pools filter by. A missing message has no fields. The result shares memory with the message.
func fieldsOf(s *pb.SearchFields) match.Fields {
	return match.Fields{Doubles: s.GetDoubleArgs(), Strings: s.GetStringArgs(), Tags: s.GetTags()}
}

// poolOf converts a pool.
func poolOf(p *pb.Pool) match.Pool {
	out := match.Pool{CreatedBefore: momentOf(p.GetCreatedBefore()), CreatedAfter: momentOf(p.GetCreatedAfter())}
	for _, f := range p.GetDoubleRangeFilters() {
		out.Doubles = append(out.Doubles, match.DoubleRange{
			Arg: f.GetDoubleArg(), Min: f.GetMin(), Max: f.GetMax(), Exclude: match.Exclude(f.GetExclude()),
		})
	}
	for _, f := range p.GetStringEqualsFilters() {
		out.Strings = append(out.Strings, match.StringEquals{Arg: f.GetStringArg(), Value: f.GetValue()})
	}
	for _, f := range p.GetTagPresentFilters() {
		out.Tags = append(out.Tags, f.GetTag())
	}
	return out
}

func momentOf(t *timestamppb.Timestamp) *match.Moment {
	if t == nil {
		return nil
	}
	return &match.Moment{Seconds: t.GetSeconds(), Nanos: t.GetNanos()}
}

// Numbers of the fields that this package encodes itself.
const (
	ticketID, ticketCreateTime                         protowire.Number = 1, 7
	backfillID, backfillCreateTime, backfillGeneration protowire.Number = 1, 5, 6
	ackBackfill, ackTickets                            protowire.Number = 1, 2
	watchAssignment                                    protowire.Number = 1
)

// stamper returns a function that adds an id and a creation time to an encoded message. Concatenated protobuf messages are
// merged, so the message is encoded once, before its id is known.
func stamper(rest []byte, id, createTime protowire.Number) func(id string, created time.Time) []byte {
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
	return appendMessage(b, field, stamp)
}

// appendMessage appends an encoded message as a field of another.
func appendMessage(b []byte, field protowire.Number, encoded []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), encoded)
}

// raw makes a message whose encoding is encoded, without decoding it: protobuf keeps unknown fields as they are. The fields of
// the result cannot be read here.
func raw[M proto.Message](m M, encoded []byte) M {
	m.ProtoReflect().SetUnknown(encoded)
	return m
}

// newTicket is what the store keeps of a ticket, whatever id and time it had, if that is no more than so many bytes. The
// message must not change afterwards.
func newTicket(t *pb.Ticket, most int) (db.NewTicket, error) {
	t.Id, t.CreateTime = "", nil
	rest, err := encode("the ticket", t, most)
	return db.NewTicket{Fields: fieldsOf(t.GetSearchFields()), Encode: stamper(rest, ticketID, ticketCreateTime)}, err
}

// newBackfill is what the store keeps of a backfill, whatever id, time and generation it had, if that is no more than so
// many bytes. The message must not change afterwards.
func newBackfill(b *pb.Backfill, most int) (db.NewBackfill, error) {
	b.Id, b.CreateTime, b.Generation = "", nil, 0
	rest, err := encode("the backfill", b, most)
	return db.NewBackfill{Fields: fieldsOf(b.GetSearchFields()), Encode: stamper(rest, backfillID, backfillCreateTime)}, err
}

// encodedBackfill encodes an openmatch.Backfill with its generation, which the store keeps in a column.
func encodedBackfill(b db.Backfill) []byte {
	out := make([]byte, 0, len(b.Body)+12)
	out = protowire.AppendTag(append(out, b.Body...), backfillGeneration, protowire.VarintType)
	return protowire.AppendVarint(out, uint64(b.Generation))
}
