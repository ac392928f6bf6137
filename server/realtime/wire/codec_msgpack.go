package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/lattice-director/director/lobby/esjson"
)

// msgpackCodec sends MessagePack as binary messages. The library reads and writes single elements only: its own walk of
// values fails at undefined, and writes 64-bit integers, which JavaScript decodes as BigInt.
type msgpackCodec struct{}

func (msgpackCodec) Name() string { return "msgpack" }
func (msgpackCodec) Binary() bool { return true }

func (msgpackCodec) Decode(frame []byte) (Envelope, error) {
	in := newUnpacker(frame)
	root, err := in.unpackValue()
	// The decoder reads from unreadBytes without a buffer of its own, so what it left is there.
	if err == nil && in.unreadBytes.Len() > 0 {
		err = errors.New("bytes after the message")
	}
	if err != nil {
		return Envelope{}, badFrame(ridOf(root), err)
	}
	return newEnvelope(root, len(frame))
}

func (msgpackCodec) Encode(out Outgoing) []byte {
	var frame bytes.Buffer
	packer{msgpack.NewEncoder(&frame)}.packValue(out.fieldMap())
	return frame.Bytes()
}

// unpacker decodes one frame.
type unpacker struct {
	decoder *msgpack.Decoder

	unreadBytes *bytes.Reader
	valueBudget budget
}

func newUnpacker(frame []byte) *unpacker {
	rest := bytes.NewReader(frame)
	return &unpacker{msgpack.NewDecoder(rest), rest, newBudget()}
}

// undefined is what msgpackr writes for the value of the same name: ext 0 with one byte.
type undefined struct{}

// extUndefined is the type of the extension that msgpackr writes for undefined.
const extUndefined = 0

var (
	errUnknown   = errors.New("a type that JSON does not have")
	errKey       = errors.New("a key that is not a string")
	errTruncated = errors.New("the frame ends too early")
)

// unpackValue decodes one element. With an error it returns what was decoded of an object before the error.
func (u *unpacker) unpackValue() (value, error) {
	code, err := u.decoder.PeekCode()
	if err != nil {
		return nil, errTruncated
	}
	switch {
	case code == msgpcode.Uint64: // DecodeFloat64 would take it for an int64
		n, err := u.decoder.DecodeUint64()
		return float64(n), err
	case msgpcode.IsFixedNum(code), code >= msgpcode.Float && code <= msgpcode.Int64:
		return u.unpackNumber()
	case msgpcode.IsString(code):
		return u.unpackText()
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return u.unpackArray()
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return u.unpackObject()
	case code == msgpcode.Nil:
		return nil, u.decoder.DecodeNil()
	case code == msgpcode.False, code == msgpcode.True:
		return u.decoder.DecodeBool()
	case msgpcode.IsExt(code):
		return u.unpackExtension()
	}
	return nil, errUnknown
}

// unpackNumber decodes any number as JavaScript would have it.
func (u *unpacker) unpackNumber() (value, error) {
	n, err := u.decoder.DecodeFloat64()
	if err != nil {
		return nil, errTruncated
	}
	// As a client of the JSON codec would have sent it: members of both codecs must get the same.
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, nil //nolint:nilnil // null, as JSON.stringify writes them
	}
	return n, nil
}

func (u *unpacker) unpackText() (value, error) {
	size, err := u.decoder.DecodeBytesLen()
	// Before the memory is made: a header of five bytes may claim 4 GiB.
	if err != nil || size > u.unreadBytes.Len() {
		return nil, errTruncated
	}
	text := make([]byte, size)
	if err := u.decoder.ReadFull(text); err != nil {
		return nil, errTruncated
	}
	// Postgres refuses other text, and so do the JSON parsers of other clients.
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// checkCount checks a decoded number of elements, of which each takes a byte at least.
func (u *unpacker) checkCount(n int, err error) (int, error) {
	if err != nil || n < 0 || n > u.unreadBytes.Len() {
		return 0, errTruncated
	}
	return n, u.valueBudget.enterValue(n)
}

func (u *unpacker) unpackArray() (value, error) {
	n, err := u.checkCount(u.decoder.DecodeArrayLen())
	if err != nil {
		return nil, err
	}
	defer u.valueBudget.leaveValue()
	values := make([]any, n)
	for i := range values {
		v, err := u.unpackValue()
		if err != nil {
			return nil, err
		}
		// In a list, JSON.stringify writes undefined as null.
		if v != (undefined{}) {
			values[i] = v
		}
	}
	return values, nil
}

func (u *unpacker) unpackObject() (value, error) {
	n, err := u.checkCount(u.decoder.DecodeMapLen())
	if err != nil {
		return nil, err
	}
	defer u.valueBudget.leaveValue()
	object := make(map[string]any, n)
	for range n {
		key, v, err := u.unpackEntry()
		if err != nil {
			// With what was decoded before the error: its rid, if it was among that, is in the answer.
			return object, err
		}
		// JSON.stringify leaves out a key whose value is undefined.
		if v != (undefined{}) {
			object[key] = v
		}
	}
	return object, nil
}

func (u *unpacker) unpackEntry() (key string, v value, err error) {
	code, err := u.decoder.PeekCode()
	if err != nil {
		return "", nil, errTruncated
	}
	if !msgpcode.IsString(code) {
		return "", nil, errKey
	}
	text, err := u.unpackText()
	if err != nil {
		return "", nil, err
	}
	v, err = u.unpackValue()
	return text.(string), v, err
}

func (u *unpacker) unpackExtension() (value, error) {
	id, size, err := u.decoder.DecodeExtHeader()
	if err != nil || size > u.unreadBytes.Len() {
		return nil, errTruncated
	}
	if id != extUndefined || size != 1 {
		return nil, errUnknown
	}
	return undefined{}, u.decoder.ReadFull(make([]byte, size))
}

// packer encodes one frame. Writing to memory never fails.
type packer struct{ encoder *msgpack.Encoder }

func (p packer) packValue(v any) {
	switch v := v.(type) {
	case nil:
		_ = p.encoder.EncodeNil()
	case bool:
		_ = p.encoder.EncodeBool(v)
	case float64:
		p.packNumber(v)
	case int:
		p.packNumber(float64(v))
	case int64:
		p.packNumber(float64(v))
	case string:
		_ = p.encoder.EncodeString(strings.ToValidUTF8(v, "\uFFFD"))
	case json.RawMessage:
		p.packJSON(v)
	case []any:
		packArray(p, v)
	case []string:
		packArray(p, v)
	case map[string]any:
		p.packObject(v)
	default:
		p.packJSON(esjson.Encode(v))
	}
}

// packJSON writes the value of a JSON text; nil if it is not valid.
func (p packer) packJSON(text []byte) {
	v, _ := esjson.ParseText(text)
	p.packValue(v)
}

// packNumber writes an integer of up to 32 bits as short as possible, and any other number as a float64.
func (p packer) packNumber(n float64) {
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		_ = p.encoder.EncodeNil()
	case n == math.Trunc(n) && n >= math.MinInt32 && n <= math.MaxUint32:
		_ = p.encoder.EncodeInt(int64(n))
	default:
		_ = p.encoder.EncodeFloat64(n)
	}
}

func packArray[T any](p packer, values []T) {
	_ = p.encoder.EncodeArrayLen(len(values))
	for _, v := range values {
		p.packValue(v)
	}
}

// packObject writes the keys in order, so that equal messages have equal frames.
func (p packer) packObject(object map[string]any) {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	_ = p.encoder.EncodeMapLen(len(keys))
	for _, key := range keys {
		p.packValue(key)
		p.packValue(object[key])
	}
}
