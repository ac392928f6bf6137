package realtimetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// appendPacked packs as msgpackr does: maps have headers of 16 bits, and a nil in a map is undefined, an extension.
func appendPacked(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, 0xd4, 0, 0)
	case bool:
		if v {
			return append(out, 0xc3)
		}
		return append(out, 0xc2)
	case int:
		return appendPacked(out, float64(v))
	case float64:
		return appendNumber(out, v)
	case string:
		return append(binary.BigEndian.AppendUint32(append(out, 0xdb), uint32(len(v))), v...)
	case []any:
		out = binary.BigEndian.AppendUint16(append(out, 0xdc), uint16(len(v)))
		for _, element := range v {
			out = appendPacked(out, element)
		}
		return out
	case map[string]any:
		out = binary.BigEndian.AppendUint16(append(out, 0xde), uint16(len(v)))
		for key, element := range v {
			out = appendPacked(appendPacked(out, key), element)
		}
		return out
	}
	return appendPacked(out, fmt.Sprint(v))
}

func appendNumber(out []byte, n float64) []byte {
	switch {
	case isWhole(n) && n >= 0:
		return binary.BigEndian.AppendUint32(append(out, 0xce), uint32(n))
	case isWhole(n):
		return binary.BigEndian.AppendUint32(append(out, 0xd2), uint32(int32(n)))
	}
	return binary.BigEndian.AppendUint64(append(out, 0xcb), math.Float64bits(n))
}

// unpacker reads MessagePack.
type unpacker struct {
	input    []byte
	problems []string
}

var errShort = errors.New("the frame is cut off")

func (u *unpacker) takeBytes(n int) ([]byte, error) {
	if n < 0 || len(u.input) < n {
		return nil, errShort
	}
	taken := u.input[:n]
	u.input = u.input[n:]
	return taken, nil
}

// readUint reads a big-endian number of up to 8 bytes.
func (u *unpacker) readUint(size int) (uint64, error) {
	taken, err := u.takeBytes(size)
	n := uint64(0)
	for _, b := range taken {
		n = n<<8 | uint64(b)
	}
	return n, err
}

func (u *unpacker) readValue() (any, error) {
	head, err := u.readUint(1)
	if err != nil {
		return nil, err
	}
	code := byte(head)
	switch {
	case code <= 0x7f:
		return float64(code), nil
	case code >= 0xe0:
		return float64(int8(code)), nil
	case code <= 0x8f:
		return u.readObject(uint64(code & 0x0f))
	case code <= 0x9f:
		return u.readList(uint64(code & 0x0f))
	case code <= 0xbf:
		return u.readText(uint64(code & 0x1f))
	}
	return u.readLong(code)
}

// readLong reads what has a code of its own.
func (u *unpacker) readLong(code byte) (any, error) {
	switch code {
	case 0xc0:
		return nil, nil
	case 0xc2, 0xc3:
		return code == 0xc3, nil
	case 0xcb:
		bits, err := u.readUint(8)
		return math.Float64frombits(bits), err
	case 0xcc, 0xcd, 0xce:
		n, err := u.readUint(1 << (code - 0xcc))
		return float64(n), err
	case 0xd0, 0xd1, 0xd2:
		return u.readNegative(1 << (code - 0xd0))
	case 0xcf, 0xd3:
		u.problems = append(u.problems, "a 64-bit integer, which is a BigInt there,")
		n, err := u.readUint(8)
		return float64(n), err
	}
	return u.readSized(code)
}

func (u *unpacker) readNegative(size int) (any, error) {
	n, err := u.readUint(size)
	shift := 64 - 8*size
	return float64(int64(n<<shift) >> shift), err
}

// readSized reads a string, list or map whose length follows its code.
func (u *unpacker) readSized(code byte) (any, error) {
	read := map[byte]func(uint64) (any, error){0xd9: u.readText, 0xda: u.readText, 0xdb: u.readText, 0xdc: u.readList,
		0xdd: u.readList,
		0xde: u.readObject, 0xdf: u.readObject}[code]
	size := map[byte]int{0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4}[code]
	if read == nil {
		return nil, fmt.Errorf("code %#x", code)
	}
	n, err := u.readUint(size)
	if err != nil {
		return nil, err
	}
	return read(n)
}

func (u *unpacker) readText(n uint64) (any, error) {
	taken, err := u.takeBytes(int(min(n, math.MaxInt32)))
	return string(taken), err
}

func (u *unpacker) readList(n uint64) (any, error) {
	if n > uint64(len(u.input)) {
		return nil, errShort
	}
	list := make([]any, n)
	for i := range list {
		v, err := u.readValue()
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func (u *unpacker) readObject(n uint64) (any, error) {
	object := map[string]any{}
	keys := make([]string, 0, min(n, 64))
	for range n {
		key, err := u.readValue()
		if err != nil {
			return nil, err
		}
		name, isText := key.(string)
		if !isText || slices.Contains(keys, name) {
			return nil, fmt.Errorf("the key %v", key)
		}
		keys = append(keys, name)
		if object[name], err = u.readValue(); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// isWhole reports whether a number is an integer of 32 bits, which msgpackr packs as one.
func isWhole(n float64) bool {
	return n == math.Trunc(n) && n >= math.MinInt32 && n <= math.MaxUint32 && (n != 0 || !math.Signbit(n))
}
