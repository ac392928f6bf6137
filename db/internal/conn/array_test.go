package conn

import (
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// TestArraysAreEncodedAsPgxDoes compares byte for byte.
func TestArraysAreEncodedAsPgxDoes(t *testing.T) {
	t.Parallel()
	pgxs, ours := pgtype.NewMap(), pgtype.NewMap()
	pgxuuid.Register(pgxs)
	RegisterTypes(ours)
	for _, c := range []struct {
		oid    uint32
		values any
		flat   bool
	}{
		{pgtype.UUIDArrayOID, []uuid.UUID{uuid.New(), uuid.Nil, uuid.Max}, true},
		{pgtype.Int4ArrayOID, []int32{0, 1, math.MinInt32, math.MaxInt32}, true},
		{pgtype.Int8ArrayOID, []int64{0, -1, math.MinInt64, math.MaxInt64}, true},
		{pgtype.Float8ArrayOID, []float64{0, -1.5, math.Inf(1), math.SmallestNonzeroFloat64}, true},
		{pgtype.TextArrayOID, []string{"", "a", "NULL", "\"{},\n", "ü€😀"}, true},
		{pgtype.ByteaArrayOID, [][]byte{{}, nil, {0, 255}, nil}, true},
		{pgtype.TextArrayOID, []string{}, true},
		{pgtype.TextArrayOID, []string(nil), true},
		{pgtype.ByteaArrayOID, [][]byte{nil}, true},
		{pgtype.TextArrayOID, []*string{new("a"), nil}, false},
		{pgtype.Int4ArrayOID, []int{1, 2}, false},
		{pgtype.Int4ArrayOID, [][]int32{{1, 2}, {3, 4}}, false},
		{pgtype.TextArrayOID, pgtype.FlatArray[string]{"a"}, false},
	} {
		before := slices.Clip([]byte("what other parameters left"))
		want, err := pgxs.Encode(c.oid, pgtype.BinaryFormatCode, c.values, before)
		require.NoError(t, err)
		got, err := ours.Encode(c.oid, pgtype.BinaryFormatCode, c.values, before)
		require.NoError(t, err)
		require.Equal(t, want, got, "%T %v", c.values, c.values)

		_, flat := ours.PlanEncode(c.oid, pgtype.BinaryFormatCode, c.values).(pgtype.Codec) // pgx's plans are none
		require.Equal(t, c.flat, flat, "%T", c.values)
	}
}
