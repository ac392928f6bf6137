package functions

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

// NewBackfill encodes a backfill for the store, without its id, time and generation, which it clears in the message.
// Errors: it has more than most bytes. The message must not change afterwards.
func NewBackfill(b *pb.Backfill, most int) (db.NewBackfill, error) {
	const id, createTime protowire.Number = 1, 5
	b.Id, b.CreateTime, b.Generation = "", nil, 0
	rest, err := ticketbody.EncodeWithin(most, "the backfill", b)
	return db.NewBackfill{SearchFields: ticketbody.FieldsOf(b.GetSearchFields()),
		EncodeBody: ticketbody.Stamper(rest, id, createTime)}, err
}

// matchedBackfill returns a backfill's contents after a match: a new one as the match function sent it; an existing one
// with the search fields and extensions that the match function sent, and its own persistent field.
func matchedBackfill(sent []byte, old *db.Backfill) (db.NewBackfill, error) {
	var b pb.Backfill
	if err := proto.Unmarshal(sent, &b); err != nil {
		return db.NewBackfill{}, err
	}
	if old == nil {
		return NewBackfill(&b, math.MaxInt) // its size was checked when it was proposed
	}
	var kept pb.Backfill
	if err := proto.Unmarshal(old.Body, &kept); err != nil {
		return db.NewBackfill{}, err
	}
	kept.SearchFields, kept.Extensions = b.GetSearchFields(), b.GetExtensions()
	return NewBackfill(&kept, math.MaxInt)
}
