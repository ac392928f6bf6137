package conn

import (
	"encoding/binary"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// RegisterTypes makes a connection encode uuid.UUID directly, where pgx would go through text, and each array of a
// batch in one loop. pgx encodes each element through an interface and reflection, which took a tenth of the CPU of a
// replica that creates tickets.
func RegisterTypes(types *pgtype.Map) {
	pgxuuid.Register(types)
	registerArrays(types)
}

func registerArrays(types *pgtype.Map) {
	registerArray(types, pgtype.UUIDArrayOID, func(b []byte, v uuid.UUID) []byte { return append(b, v[:]...) })
	registerArray(types, pgtype.Int4ArrayOID,
		func(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) })
	registerArray(types, pgtype.Int8ArrayOID,
		func(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) })
	registerArray(types, pgtype.Float8ArrayOID,
		func(b []byte, v float64) []byte { return binary.BigEndian.AppendUint64(b, math.Float64bits(v)) })
	registerArray(types, pgtype.TextArrayOID, func(b []byte, v string) []byte { return append(b, v...) })
	registerArray(types, pgtype.ByteaArrayOID, func(b []byte, v []byte) []byte {
		if v == nil {
			return nil
		}
		return append(b, v...)
	})
}

// registerArray makes the connection encode a []T as this array type by appending one element after the other.
// appendElement returns nil for a null. pgx encodes all other values and decodes all results.
func registerArray[T any](types *pgtype.Map, array uint32, appendElement func([]byte, T) []byte) {
	known, ok := types.TypeForOID(array)
	if !ok {
		return
	}
	if codec, ok := known.Codec.(*pgtype.ArrayCodec); ok {
		types.RegisterType(&pgtype.Type{Name: known.Name, OID: array, Codec: sliceCodec[T]{codec, appendElement}})
	}
}

// sliceCodec encodes a []T as an array; it is an ArrayCodec for everything else.
type sliceCodec[T any] struct {
	*pgtype.ArrayCodec

	appendElement func([]byte, T) []byte
}

// PlanEncode implements pgtype.Codec.
func (c sliceCodec[T]) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.([]T); ok && format == pgtype.BinaryFormatCode {
		return c
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

// Encode implements pgtype.EncodePlan. It writes the format that array_recv of Postgres reads: the number of
// dimensions, whether there are nulls, the type of the elements; their number and the index of the first; each element
// after its length.
func (c sliceCodec[T]) Encode(value any, b []byte) ([]byte, error) {
	const nullLength = math.MaxUint32 // stands for the length of a null, which has no bytes
	values := value.([]T)             //nolint:forcetypeassert // PlanEncode checked the type.
	if values == nil {
		return nil, nil
	}
	const dimensions, withoutNulls, firstIndex = 1, 0, 1
	hasNullsAt := len(b) + 4 // behind the number of dimensions
	for _, n := range []uint32{dimensions, withoutNulls, c.ElementType.OID, uint32(len(values)), firstIndex} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for _, v := range values {
		lengthAt := len(b)
		b = binary.BigEndian.AppendUint32(b, nullLength)
		elementAt := len(b)
		withElement := c.appendElement(b, v)
		if withElement == nil {
			binary.BigEndian.PutUint32(b[hasNullsAt:], 1)
			continue
		}
		b = withElement
		binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-elementAt))
	}
	return b, nil
}
