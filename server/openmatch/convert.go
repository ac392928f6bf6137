package openmatch

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

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
	ticketID, ticketCreateTime protowire.Number = 1, 7
	backfillGeneration         protowire.Number = 6
	ackBackfill, ackTickets    protowire.Number = 1, 2
	watchAssignment            protowire.Number = 1
)

// newTicket returns what the store keeps of a ticket, which gets an id and a time of its own: it clears those of the
// message, which must not change afterwards. Errors: the rest has more than maxBytes.
func newTicket(t *pb.Ticket, maxBytes int) (db.NewTicket, error) {
	t.Id, t.CreateTime = "", nil
	body, err := ticketbody.EncodeWithin(maxBytes, "the ticket", t)
	return db.NewTicket{SearchFields: ticketbody.FieldsOf(t.GetSearchFields()),
		EncodeBody: ticketbody.Stamper(body, ticketID, ticketCreateTime)}, err
}

// encodedBackfill encodes an openmatch.Backfill with its generation, which the store keeps in a column.
func encodedBackfill(b db.Backfill) []byte {
	out := make([]byte, 0, len(b.Body)+12)
	out = protowire.AppendTag(append(out, b.Body...), backfillGeneration, protowire.VarintType)
	return protowire.AppendVarint(out, uint64(b.Generation))
}
