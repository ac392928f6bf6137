package wire

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby/esjson"
)

var codecs = []Codec{JSONCodec{}, msgpackCodec{}}

// sdkJoin is what the SDK sends for a join without options: map16 headers, and undefined as ext 0.
const sdkJoin = "de0004a17601a174b3726f6f6d2e6a6f696e5f6f725f637265617465a3726964a57270632d32a170de0003a8726f6f6d54797065a56c6f626279" +
	"a6726f6f6d4964d40000a76f7074696f6e73d40000"

func unhex(t testing.TB, text string) []byte {
	return must.Get(hex.DecodeString(strings.ReplaceAll(text, " ", "")))(t)
}

func TestAJoinOfTheSDK(t *testing.T) {
	t.Parallel()
	want := Envelope{Type: "room.join_or_create", RID: "rpc-2", P: map[string]any{"roomType": "lobby"}}
	got, err := msgpackCodec{}.Decode(unhex(t, sdkJoin))
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = JSONCodec{}.Decode([]byte(`{"v":1,"t":"room.join_or_create","rid":"rpc-2","p":{"roomType":"lobby"}}`))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestTheDirectorPrefersMsgpack(t *testing.T) {
	t.Parallel()
	require.Equal(t, msgpackCodec{}, NegotiateCodec([]string{"json", "cbor", "msgpack"}))
	require.Equal(t, JSONCodec{}, NegotiateCodec([]string{"cbor", "json"}))
	require.Nil(t, NegotiateCodec([]string{"cbor", "MSGPACK", ""}))
	require.Nil(t, NegotiateCodec(nil))
}

// payloads generates what clients may send as p.
func payloads() *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "__proto__", "\x00", "\uFFFD",
		strings.Repeat("a", 40), strings.Repeat("é", 300)}))
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), numbers().AsAny(), text.AsAny())
	inner := rapid.OneOf(leaf, rapid.SliceOfN(leaf, 0, 20).AsAny(), rapid.MapOfN(text, leaf, 0, 20).AsAny())
	return rapid.OneOf(inner, rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(text, inner, 0, 4).AsAny())
}

// numbers generates numbers on both sides of each size that an integer may have.
func numbers() *rapid.Generator[float64] {
	var edges []float64
	for _, bits := range []int{5, 7, 8, 15, 16, 31, 32, 53, 63, 64} {
		n := math.Ldexp(1, bits)
		edges = append(edges, n-1, n, n+1, -n-1, -n, -n+1)
	}
	return rapid.OneOf(rapid.Float64(), rapid.SampledFrom(edges),
		rapid.Map(rapid.Int64(), func(n int64) float64 { return float64(n) }))
}

// decodeOut reads a frame of the director: it has the form of those of clients.
func decodeOut(t require.TestingT, c Codec, frame []byte) any {
	if !c.Binary() {
		return must.Get(esjson.ParseText(frame))(t)
	}
	in := newUnpacker(frame)
	root := must.Get(in.unpackValue())(t)
	require.Zero(t, in.unreadBytes.Len())
	return root
}

func TestEachCodecReadsWhatItWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		out := Outgoing{Type: "x", RID: rapid.SampledFrom([]string{"", "rpc-1"}).Draw(t, "rid"),
			Room: rapid.SampledFrom([]string{"", "a:b"}).Draw(t, "room"),
			P:    payloads().Draw(t, "p")}
		want := Envelope{Type: "x", RID: out.RID, Room: out.Room, HasRoom: out.Room != "", P: out.P}
		for _, c := range codecs {
			got, err := c.Decode(c.Encode(out))
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}

// JavaScript reads 64-bit integers as BigInt, which JSON.stringify refuses.
func TestNoFrameHasA64BitInteger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := numbers().Draw(t, "number")
		for _, v := range []any{n, json.RawMessage(esjson.AppendNumber(nil, n))} {
			frame := msgpackCodec{}.Encode(Outgoing{Type: "x", P: v})
			require.Equal(t, "\xa1p", string(frame[1:3]), "p is the first key")
			require.NotContains(t, []byte{msgpcode.Uint64, msgpcode.Int64, msgpcode.Float}, frame[3])
			whole := n == math.Trunc(n) && n >= math.MinInt32 && n <= math.MaxUint32
			require.Equal(t, !whole, frame[3] == msgpcode.Double, "%v", n)
		}
	})
}

func TestPayloadsOfEveryFormAreTheSameInBothCodecs(t *testing.T) {
	t.Parallel()
	type op struct {
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value,omitempty"`
	}
	want := map[string]any{"ops": []any{map[string]any{"path": "/a", "value": []any{1.0, nil}},
		map[string]any{"path": "/b"}}}
	ops := []op{{"/a", json.RawMessage(`[1,1e400]`)}, {"/b", nil}}
	for _, p := range []any{
		want,
		map[string]any{"ops": ops},
		struct {
			Ops []op `json:"ops"`
		}{ops},
		json.RawMessage(`{"ops":[{"path":"/a","value":[1,null]},{"path":"/b"}]}`),
	} {
		for _, c := range codecs {
			frame := c.Encode(Outgoing{Type: "x", P: p})
			require.Equal(t, map[string]any{"v": 1.0, "t": "x", "p": want}, decodeOut(t, c, frame), "%T in %s", p,
				c.Name())
		}
	}
	for _, c := range codecs {
		frame := c.Encode(Outgoing{Type: "x",
			P: map[string]any{"nan": math.NaN(), "inf": math.Inf(-1), "n": 3, "list": []string{"a"},
				"none": json.RawMessage(nil)}})
		require.Equal(t, map[string]any{"nan": nil, "inf": nil, "n": 3.0, "list": []any{"a"}, "none": nil},
			decodeOut(t, c, frame).(map[string]any)["p"])
	}
}

func TestASharedFrameIsEncodedOncePerCodec(t *testing.T) {
	t.Parallel()
	frame := NewSharedFrame(Outgoing{Type: "x", Room: "r"})
	for _, c := range codecs {
		require.Equal(t, c.Encode(Outgoing{Type: "x", Room: "r"}), frame.Encoded(c))
		first, again := frame.Encoded(c), frame.Encoded(c)
		require.Same(t, &first[0], &again[0])
	}
}

// packed returns a frame with p as msgpack in hex.
func packed(p string) string {
	return "84 a176 01 a174 a178 a3726964 a172 a170" + p
}

func TestMsgpackThatJSONHasNot(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]any{
		"d40000":                 nil, // p itself: absent
		"93 01 d40000 c0":        []any{1.0, nil, nil},
		"82 a161 d40000 a162 01": map[string]any{"b": 1.0},
		"ca3fc00000":             1.5,
		"cb7ff8000000000000":     nil, // NaN
		"cbfff0000000000000":     nil, // -Infinity
		"cfffffffffffffffff":     math.Ldexp(1, 64),
		"d3ffffffffffffffff":     -1.0, // a BigInt
		"d0ff":                   -1.0,
		"d9 01 61":               "a",
	} {
		got, err := msgpackCodec{}.Decode(unhex(t, packed(p)))
		require.NoError(t, err, p)
		require.Equal(t, want, got.P, p)
	}
}

// Each frame is refused without reading what it declares, and is answered if its rid came first.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	deep := func(open, shut string, levels int) string { return strings.Repeat(open, levels) + shut }
	many := "dc2711" + strings.Repeat("c0", 10_001)
	for p, want := range map[string]string{
		"c7 02 00 0000":          "a type that JSON does not have",
		"d401 00":                "a type that JSON does not have",
		"d6ff 00000000":          "a type that JSON does not have", // a Date
		"c4 01 00":               "a type that JSON does not have",
		"c1":                     "a type that JSON does not have",
		"81 01 01":               "a key that is not a string",
		"81 c0 01":               "a key that is not a string",
		"81 d40000 01":           "a key that is not a string",
		"db 40000000 61":         "the frame ends too early",
		"dd 40000000 61":         "the frame ends too early",
		"df 40000000 61":         "the frame ends too early",
		"c9 40000000 00 61":      "the frame ends too early",
		"d4 00":                  "the frame ends too early",
		"cb 00":                  "the frame ends too early",
		"":                       "the frame ends too early",
		"01 02":                  "bytes after the message",
		many:                     "too many elements",
		deep("91", "c0", 32):     "nested too deeply",
		deep("81a161", "c0", 32): "nested too deeply",
	} {
		_, err := msgpackCodec{}.Decode(unhex(t, packed(p)))
		require.Equal(t, &FrameError{CodeBadFrame, "decode failed: " + want, "r"}, err, p)
	}
	_, err := msgpackCodec{}.Decode(unhex(t, packed(deep("91", "c0", 31))))
	require.NoError(t, err)
	for frame, rid := range map[string]string{
		``: "", `[]`: "", `1`: "", `null`: "", `{"rid":"r"`: "r", `{"v":1,"rid":"r","t":"x","p":{"a":}}`: "r", `{"v":1,"t":"x","p":{"a":},"rid":"r"}`: "",
		`{"rid":"r","v":1,"t":"x","p":` + deep("[", "1", 32) + deep("]", "", 32) + `}`: "r",
		`{"rid":"r","v":1,"t":"x","p":[` + strings.Repeat("1,", 10_000) + `1]}`:        "r",
		`{"rid":"r","v":1,"t":7}`:                                  "r",
		`{"rid":"r","v":1,"t":"x","room":7}`:                       "r",
		`{"rid":"r","v":"1","t":"x"}`:                              "r",
		`{"rid":"r","t":"x"}`:                                      "r",
		`{"rid":7,"v":1,"t":"x"}`:                                  "7",
		`{"rid":"` + strings.Repeat("r", 257) + `","v":1,"t":"x"}`: strings.Repeat("r", 256),
		`{"rid":["r"`:                                              "", `{"rid":7,`: "7", `{7`: "", "{\"rid\":\"r\",\"x\":\"\x01\"}": "r",
	} {
		_, err := JSONCodec{}.Decode([]byte(frame))
		var bad *FrameError
		require.ErrorAs(t, err, &bad, frame)
		require.Equal(t, CodeBadFrame, bad.Code, frame)
		require.Equal(t, rid, bad.RID, frame)
	}
}

func TestPayloadsMayHave64KiBOfCompactJSON(t *testing.T) {
	t.Parallel()
	for _, c := range codecs {
		for extra, code := range []string{"", CodeTooLarge} {
			frame := c.Encode(Outgoing{Type: "x", RID: "r", P: strings.Repeat("a", MaxPayload-2+extra)})
			_, err := c.Decode(frame)
			if code == "" {
				require.NoError(t, err)
				continue
			}
			require.Equal(t, &FrameError{code, "payload exceeds maximum size", "r"}, err)
		}
		controls := c.Encode(Outgoing{Type: "x", RID: "r", P: strings.Repeat("\x01", MaxPayload/6+1)})
		_, err := c.Decode(controls)
		require.Error(t, err, "what counts is the length as JSON")
	}
	spaces := fmt.Sprintf(`{"v":1,"t":"x","p":[%s]}`, strings.Repeat(" ", MaxPayload))
	_, err := JSONCodec{}.Decode([]byte(spaces))
	require.NoError(t, err, "what counts is compact JSON")
}

// Pins the shortcut by which most frames are not encoded again.
func TestNoFrameGrowsMoreThanTheShortcutAssumes(t *testing.T) {
	t.Parallel()
	check := func(t require.TestingT, frame []byte, p any) {
		require.LessOrEqual(t, len(RawJSON(p)), mostBytesOfJSON*len(frame))
	}
	rapid.Check(t, func(t *rapid.T) {
		p := payloads().Draw(t, "p")
		for _, c := range codecs {
			check(t, c.Encode(Outgoing{P: p}), p)
		}
		single := binary.BigEndian.AppendUint32([]byte{msgpcode.Float},
			math.Float32bits(rapid.Float32().Draw(t, "float32")))
		n, err := newUnpacker(single).unpackValue()
		require.NoError(t, err)
		check(t, single, n)
	})
	for _, text := range []string{"1e20", "-1e20", "9E20", "1E-6", `"\u0001"`} {
		p, err := esjson.ParseText([]byte(text))
		require.NoError(t, err)
		check(t, []byte(text), p)
	}
}
