package orchestrator

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields reads a protobuf message field by field, in any order. It skips a field that the caller does not read.
// After an error the getters return zero values and nextField returns false.
type fields struct {
	unreadBytes []byte
	err         error // quotes no value

	// The current field.
	number int
	kind   protowire.Type
	value  []byte
}

func (f *fields) nextField() bool {
	if f.err != nil || len(f.unreadBytes) == 0 {
		return false
	}
	number, kind, tag := protowire.ConsumeTag(f.unreadBytes)
	if tag < 0 {
		f.err = errors.New("malformed tag")
		return false
	}
	// The whole value is checked here, so that the getters cannot fail for what it contains.
	size := protowire.ConsumeFieldValue(number, kind, f.unreadBytes[tag:])
	if size < 0 {
		f.err = fmt.Errorf("field %d is cut off or malformed", number)
		return false
	}
	f.number, f.kind, f.value, f.unreadBytes = int(number), kind, f.unreadBytes[tag:tag+size], f.unreadBytes[tag+size:]
	return true
}

// expectKind records an error if the current field has another wire type: skipping it would treat a sent field as
// absent.
func (f *fields) expectKind(kind protowire.Type) bool {
	if f.err == nil && f.kind != kind {
		f.err = fmt.Errorf("field %d has wire type %d, not %d", f.number, f.kind, kind)
	}
	return f.err == nil
}

// bytes returns a part of the message, not a copy.
func (f *fields) bytes() []byte {
	if !f.expectKind(protowire.BytesType) {
		return nil
	}
	b, _ := protowire.ConsumeBytes(f.value) // nextField has checked it
	return b
}

func (f *fields) text() string { return decodeText(f.bytes()) }

func (f *fields) varint() uint64 {
	if !f.expectKind(protowire.VarintType) {
		return 0
	}
	n, _ := protowire.ConsumeVarint(f.value) // nextField has checked it
	return n
}

func (f *fields) bool() bool     { return f.varint() != 0 }
func (f *fields) uint32() uint32 { return uint32(f.varint()) } // as protobuf does, the high bits are cut off
func (f *fields) int32() int32   { return int32(f.varint()) }  // a plain varint, not zig-zag

// readNested reads the current field as a message.
func readNested[T any](f *fields, read func(*fields) T) T {
	in := &fields{unreadBytes: f.bytes()}
	message := read(in)
	if f.err == nil && in.err != nil {
		f.err = fmt.Errorf("in field %d: %w", f.number, in.err)
	}
	return message
}
