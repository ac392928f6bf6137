package db

import (
	"encoding/binary"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// flatArrays teaches a connection to send the arrays that flights are made of in one loop each. pgx goes through an interface
// and reflection for each element, which took a tenth of the CPU of a replica that creates tickets.
func flatArrays(types *pgtype.Map) {
	flatArray(types, pgtype.UUIDArrayOID, func(b []byte, v uuid.UUID) []byte { return append(b, v[:]...) })
	flatArray(types, pgtype.Int4ArrayOID, func(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) })
	flatArray(types, pgtype.Int8ArrayOID, func(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) })
	flatArray(types, pgtype.Float8ArrayOID, func(b []byte, v float64) []byte { return binary.BigEndian.AppendUint64(b, math.Float64bits(v)) })
	flatArray(types, pgtype.TextArrayOID, func(b []byte, v string) []byte { return append(b, v...) })
	flatArray(types, pgtype.ByteaArrayOID, func(b []byte, v []byte) []byte {
		if v == nil {
			return nil
		}
		return append(b, v...)
	})
}

// flatArray sends slices of T as arrays of that type by appending one element after the other; appending gives nil for a
// null. All other values, and all results, stay pgx's.
func flatArray[T any](types *pgtype.Map, array uint32, appendElement func([]byte, T) []byte) {
	known, ok := types.TypeForOID(array)
	if !ok {
		return
	}
	if codec, ok := known.Codec.(*pgtype.ArrayCodec); ok {
		types.RegisterType(&pgtype.Type{Name: known.Name, OID: array, Codec: flatCodec[T]{codec, appendElement}})
	}
}

type flatCodec[T any] struct {
	*pgtype.ArrayCodec

	appendElement func([]byte, T) []byte
}

// PlanEncode implements pgtype.Codec.
func (c flatCodec[T]) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.([]T); ok && format == pgtype.BinaryFormatCode {
		return c
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

// Encode implements pgtype.EncodePlan, in what array_recv of Postgres reads: the number of dimensions, whether there are
// nulls, the type of the elements; how many they are and from where they are counted; each with its length before it.
func (c flatCodec[T]) Encode(value any, b []byte) ([]byte, error) {
	const null = math.MaxUint32
	put := binary.BigEndian.AppendUint32
	values := value.([]T) //nolint:forcetypeassert // PlanEncode looked.
	if values == nil {
		return nil, nil
	}
	nulls := len(b) + 4
	b = put(put(put(put(put(b, 1), 0), c.ElementType.OID), uint32(len(values))), 1)
	for _, v := range values {
		at := len(b) + 4
		b = put(b, null)
		if whole := c.appendElement(b, v); whole != nil {
			b = whole
			binary.BigEndian.PutUint32(b[at-4:], uint32(len(b)-at))
			continue
		}
		binary.BigEndian.PutUint32(b[nulls:], 1)
	}
	return b, nil
}
