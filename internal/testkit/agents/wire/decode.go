package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"
)

// ErrVersion is the error of a message of another major version, at which an agent ends.
var ErrVersion = errors.New("message of another major version")

var instanceID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// Decode reads a WebSocket message of an orchestrator: it returns a Hello, a Poll or a Command. Each field must occur
// once, in the order of its number, in the shortest encoding, and nothing else. Errors: ErrVersion, or what is wrong
// with the message.
func Decode(message []byte) (any, error) {
	r := reader{restBytes: message}
	topic, payload := r.readText(1), r.readBytes(2)
	if err := r.expectEnd(); err != nil {
		return nil, fmt.Errorf("outer frame: %w", err)
	}
	if len(payload) < 2 {
		return nil, fmt.Errorf("%s: payload of %d bytes", topic, len(payload))
	}
	if payload[0] != Version {
		return nil, fmt.Errorf("%s: %w: %d", topic, ErrVersion, payload[0])
	}
	if payload[1] != 0 {
		return nil, fmt.Errorf("%s: minor version %d", topic, payload[1])
	}
	decoded, err := decodeBody(topic, &reader{restBytes: payload[2:]})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", topic, err)
	}
	return decoded, nil
}

func decodeBody(topic string, r *reader) (any, error) {
	switch topic {
	case TopicHello:
		return decodeHello(r)
	case TopicPoll:
		return decodePoll(r)
	case TopicCommand:
		return decodeCommand(r)
	}
	return nil, errors.New("an orchestrator does not send this topic")
}

func decodeHello(r *reader) (Hello, error) {
	h := Hello{InstanceID: r.readText(1), ProtocolVersion: r.readUint32(2), HeartbeatMS: r.readUint32(3)}
	r.requiref(instanceID.MatchString(h.InstanceID), "instanceId is not 16 lower-case hex digits")
	r.requiref(h.HeartbeatMS > 0, "heartbeatMs is 0")
	return h, r.expectEnd()
}

func decodePoll(r *reader) (Poll, error) {
	p := Poll{ReqID: r.readText(1)}
	if r.hasField(2, bytesType) {
		p.KnownHash = new(r.readText(2))
	}
	p.Status = r.readText(3)
	r.requiref(p.ReqID != "", "reqId is empty")
	r.requiref(p.Status == Active || p.Status == Draining, "status is neither active nor draining")
	return p, r.expectEnd()
}

func decodeCommand(r *reader) (Command, error) {
	c := Command{ID: r.readText(1), Op: r.readText(2)}
	r.requiref(c.ID != "", "cmdId is empty")
	r.requiref(slices.Contains([]string{Create, Destroy, Drain, Undrain}, c.Op), "unknown op")
	// Drain and Undrain have no further fields.
	if c.Op == Create || c.Op == Destroy {
		c.RoomID = r.readText(3)
	}
	if c.Op == Create {
		c.RoomType = r.readText(4)
	}
	return c, r.expectEnd()
}

// reader reads fields in their required order. After the first error its methods return zero values, so that only
// expectEnd returns an error.
type reader struct {
	restBytes []byte
	err       error // the first one
}

// requiref keeps an error unless ok or there is one already.
func (r *reader) requiref(ok bool, format string, args ...any) {
	if r.err == nil && !ok {
		r.err = fmt.Errorf(format, args...)
	}
}

// expectEnd returns the first error; unread bytes are an error, too.
func (r *reader) expectEnd() error {
	r.requiref(len(r.restBytes) == 0, "a field that does not belong here, or not in this order")
	return r.err
}

// hasField reports whether the next field has this number and wire type.
func (r *reader) hasField(field, wireType uint64) bool {
	tag, n := binary.Uvarint(r.restBytes)
	return n > 0 && tag == field<<3|wireType
}

// readTag reads the number and the wire type of a field, which have to be these.
func (r *reader) readTag(field, wireType uint64) {
	r.requiref(r.hasField(field, wireType), "field %d is not where it should be", field)
	r.readVarint()
}

func (r *reader) readVarint() uint64 {
	if r.err != nil {
		return 0
	}
	value, n := binary.Uvarint(r.restBytes)
	r.requiref(n > 0, "a varint is cut off or too large")
	// Protobuf allows more bytes, but a message has one encoding only.
	r.requiref(n < 2 || r.restBytes[n-1] != 0, "a varint is longer than needed")
	if r.err != nil {
		return 0
	}
	r.restBytes = r.restBytes[n:]
	return value
}

func (r *reader) readUint32(field uint64) uint32 {
	r.readTag(field, varintType)
	value := r.readVarint()
	r.requiref(value>>32 == 0, "field %d has more than 32 bits", field)
	return uint32(value)
}

func (r *reader) readBytes(field uint64) []byte {
	r.readTag(field, bytesType)
	size := r.readVarint()
	r.requiref(size <= uint64(len(r.restBytes)), "field %d is cut off", field)
	if r.err != nil {
		return nil
	}
	value := r.restBytes[:size]
	r.restBytes = r.restBytes[size:]
	return value
}

func (r *reader) readText(field uint64) string {
	value := r.readBytes(field)
	r.requiref(utf8.Valid(value), "field %d is not UTF-8", field)
	return string(value)
}
