package wire

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

func received(t *testing.T, frame string) Envelope {
	e, err := JSONCodec{}.Decode([]byte(frame))
	require.NoError(t, err, frame)
	return e
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]Envelope{
		`{"v":1,"t":"x"}`: {Type: "x"},
		`{"v":1.0,"t":"x","rid":null,"room":null,"p":null}`:       {Type: "x"},
		`{"p":[1],"room":"a:b","rid":"r","t":"x","v":1,"more":1}`: {Type: "x", RID: "r", Room: "a:b", HasRoom: true, P: []any{1.0}},
		`{"v":1,"t":"x","room":""}`:                               {Type: "x", HasRoom: true},
	} {
		require.Equal(t, want, received(t, frame), frame)
	}
	for frame, want := range map[string]*FrameError{
		`{"v":2,"t":"x","rid":"r"}`:           {CodeVersion, "unsupported protocol version: 2", "r"},
		`{"v":-1.5,"rid":"r"}`:                {CodeVersion, "unsupported protocol version: -1.5", "r"},
		`{"v":1,"rid":"r"}`:                   {codeTypeRequired, "message type is required", "r"},
		`{"v":1,"t":" \t","rid":"r"}`:         {codeTypeRequired, "message type is required", "r"},
		`{"v":1,"t":null}`:                    {codeTypeRequired, "message type is required", ""},
		`{"v":null,"t":"x","rid":"r"}`:        {CodeBadFrame, "decode failed: v is not a number", "r"},
		`{"v":1,"t":"x","rid":7}`:             {CodeBadFrame, "decode failed: rid is not a string of up to 256 bytes", "7"},
		`{"v":1,"t":"x","rid":"r","room":{}}`: {CodeBadFrame, "decode failed: room is not a string", "r"},
	} {
		_, err := JSONCodec{}.Decode([]byte(frame))
		require.Equal(t, want, err, frame)
	}
}

func TestTheRoomOfAFrame(t *testing.T) {
	t.Parallel()
	const head = `{"v":1,"t":"x"`
	for frame, want := range map[string]string{
		head + `,"room":"a","p":{"roomId":"b"}}`:                "a",
		head + `,"p":{"roomId":"b","room_id":"c","room":"d"}}`:  "b",
		head + `,"p":{"roomId":null,"room_id":"c","room":"d"}}`: "c",
		head + `,"p":{"room":"d","options":{"roomId":"e"}}}`:    "d",
		head + `,"p":{"options":{"roomId":"e","room":"f"}}}`:    "e",
		head + `,"p":{"options":{"room":"f"}}}`:                 "chat:f",
		head + `,"p":{"options":{"room":"town:f"}}}`:            "town:f",
		head + `,"p":{"options":[]}}`:                           "chat:default",
		head + `,"p":7}`:                                        "chat:default",
		head + `}`:                                              "chat:default",
		head + `,"room":"` + strings.Repeat("a", 128) + `"}`:    strings.Repeat("a", 128),
	} {
		room, fail := received(t, frame).JoinedRoom("chat")
		require.Nil(t, fail, frame)
		require.Equal(t, want, room, frame)
	}
	for _, p := range []string{`{"roomId":""}`, `{"roomId":7}`, `{"room":"a b"}`, `{"room":"\u0000"}`, `{"options":{"room":""}}`, `{"options":{"room":7}}`,
		`{"options":{"room":"a b"}}`, `{"room":"` + strings.Repeat("a", 129) + `"}`} {
		_, fail := received(t, head+`,"p":`+p+`}`).JoinedRoom("chat")
		require.Equal(t, CodeInvalid, fail.Code, p)
		require.Equal(t, "room", fail.Field, p)
	}
	_, fail := received(t, head+`,"room":""}`).NeededRoom()
	require.Equal(t, CodeInvalid, fail.Code)
	_, fail = received(t, head+`,"p":{}}`).NeededRoom()
	require.Equal(t, &Failure{Code: "room_required", Text: "room id is required"}, fail)
	room, fail := received(t, head+`,"p":{"room":"a"}}`).NeededRoom()
	require.Nil(t, fail)
	require.Equal(t, "a", room)
}

func TestTheRoomTypeOfAFrame(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]string{
		`{"roomType":"a","room_type":"b"}`: "a", `{"room_type":"b"}`: "b", `{}`: "echo_room", `{"roomType":null}`: "echo_room", `[]`: "echo_room",
	} {
		name, fail := received(t, `{"v":1,"t":"x","p":`+p+`}`).RoomType("echo_room")
		require.Nil(t, fail, p)
		require.Equal(t, want, name, p)
	}
	for _, p := range []string{`{"roomType":""}`, `{"roomType":7}`, `{"roomType":"a:b"}`, `{"roomType":"a\n"}`} {
		_, fail := received(t, `{"v":1,"t":"x","p":`+p+`}`).RoomType("")
		require.Equal(t, "room_type", fail.Field, p)
	}
}

func TestIntegersAreClamped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   any
		want int
	}{
		{nil, 5}, {"3", 5}, {true, 5}, {math.NaN(), 5}, {-1.0, 2}, {1e300, 16}, {math.Inf(-1), 2}, {3.9, 3}, {4.0, 4}, {[]any{}, 5},
	} {
		require.Equal(t, c.want, ClampInteger(c.in, 5, 2, 16), "%v", c.in)
	}
}

// FuzzJSONFrames checks that no frame of a client gets through that breaks a limit, and that what gets through can be
// sent.
func FuzzJSONFrames(f *testing.F) {
	for _, seed := range []string{`{"v":1,"t":"x","rid":"r","room":"a:b","p":{"a":[1,null,"é"]}}`, `{"rid":"r"`, `{"v":2,"rid":"r"}`, `[[[[`, `{"v":1e400}`,
		`{"v":1,"t":"x","p":{"roomType":"a","options":{"room":"b"}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) { fuzzFrame(t, JSONCodec{}, frame) })
}

// FuzzMsgpackFrames does the same for the other codec.
func FuzzMsgpackFrames(f *testing.F) {
	f.Add(unhex(f, sdkJoin))
	for _, p := range []string{"c0", "93 01 d40000 c0", "c70200 0000", "d6ff 00000000", "db 40000000 61", "81 01 01", "cfffffffffffffffff", "ca7fc00000"} {
		f.Add(unhex(f, packed(p)))
	}
	f.Fuzz(func(t *testing.T, frame []byte) { fuzzFrame(t, msgpackCodec{}, frame) })
}

func fuzzFrame(t *testing.T, c Codec, frame []byte) {
	e, err := c.Decode(frame)
	if err != nil {
		var bad *FrameError
		require.ErrorAs(t, err, &bad)
		require.LessOrEqual(t, len(bad.RID), maxRID)
		return
	}
	require.NotEmpty(t, strings.TrimSpace(e.Type))
	require.LessOrEqual(t, len(RawJSON(e.P)), MaxPayload)
	limit := newBudget()
	require.NoError(t, limit.takeValue(map[string]any{"p": e.P}))
	name, fail := e.RoomType("chat")
	if fail == nil {
		_, _ = e.JoinedRoom(name)
	}
	for _, other := range codecs {
		again := must.Get(other.Decode(other.Encode(Outgoing{Type: e.Type, RID: e.RID, Room: e.Room, P: e.P})))(t)
		again.HasRoom = e.HasRoom
		require.Equal(t, e, again)
	}
}
