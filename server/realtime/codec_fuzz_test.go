package realtime

import (
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// Any frame is read as an envelope that both codecs write and read again, or refused with a reason.
func FuzzDecode(f *testing.F) {
	join, _ := hex.DecodeString(sdkJoin)
	for _, seed := range [][]byte{
		join, []byte(`{"v":1,"t":"echo","rid":"rpc-1","room":"a:b","p":{"a":[1,-0,1e400,"\ud800"],"__proto__":{},"9":null}}`),
		[]byte(`{"v":1,"t":"x","p":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}`),
		[]byte("\x82\xa1v\x01\xa1t\xa1x"), []byte("\x83\xa1v\x01\xa1t\xa1x\xa1p\xd4\x00\x00"), []byte("\x83\xa1v\x01\xa1t\xa1x\xa1p\xdd\x40\x00\x00\x00"),
		[]byte("\x83\xa1v\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\xa1t\xa1x\xa1p\xd3\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("null"), []byte("\xc1"), {},
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, frame []byte, binary bool) {
		c := codecs[0]
		if binary {
			c = codecs[1]
		}
		e, err := c.Decode(frame)
		if err != nil {
			var broken *frameError
			require.ErrorAs(t, err, &broken)
			why, known := failureOf(err)
			require.True(t, known)
			require.NotEmpty(t, why.Code)
			require.NotEmpty(t, jsonCodec{}.Encode(failed(broken.RID, "", why)))
			return
		}
		require.NotEmpty(t, e.Type)
		for _, other := range codecs {
			again, err := other.Decode(other.Encode(outgoing{Type: e.Type, RID: e.RID, Room: e.Room, P: e.P}))
			if why := (*frameError)(nil); errors.As(err, &why) && why.Code == codeTooLarge {
				continue // what took fewer bytes in the frame
			}
			require.NoError(t, err)
			require.Equal(t, e.Type, again.Type)
			require.Equal(t, e.RID, again.RID)
			require.Equal(t, e.Room, again.Room)
			require.Equal(t, finite(e.P), again.P, other.Name())
		}
	})
}

// finite returns a payload as it is written: numbers that JSON does not have are null, and there is one zero.
func finite(v value) value {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v + 0
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = finite(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, element := range v {
			out[key] = finite(element)
		}
		return out
	}
	return v
}

// Whatever a client sends, its connection answers the next request or is closed with a code that says why; others are served.
func FuzzConnection(f *testing.F) {
	join, _ := hex.DecodeString(sdkJoin)
	for _, seed := range []string{
		`{"v":1,"t":"room.join_or_create","rid":"a","p":{"roomType":"lobby","options":{"name":7,"private":true}}}`,
		`{"v":1,"t":"room.message","rid":"a","room":"lobby:default","p":{"type":"set","data":{"key":"__proto__","value":{"a/b":1}}}}`,
		`{"v":1,"t":"room.message","rid":"a","room":"lobby:default","p":{"type":"start","data":{"size":1e300}}}`,
		`{"v":1,"t":"room.message.bytes","room":"lobby:default","p":{"type":1,"data_b64":"===="}}`,
		`{"v":1,"t":"state.ack","room":"lobby:default","p":{"seq":1e300,"checksum":"x"}}`, `{"v":1,"t":"state.resync","room":"lobby:default"}`,
		`{"v":1,"t":"matchmaking.enqueue","rid":"a","p":{"roomType":"a b","size":"3","latencies":{"eu":-1}}}`,
		`{"v":1,"t":"room.list","p":{"after":"\u0000","limit":-1}}`, `{"v":1,"t":"echo","p":null}`, `{"v":1,"t":"room.leave","rid":"","p":[]}`, string(join), "\x00",
	} {
		f.Add([]byte(seed))
	}
	v := serve(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) > maxFrame {
			return
		}
		r := v.rawFor(t)
		r.text(`{"v":1,"codecs":["json"],"project_id":"p1"}`)
		require.Equal(t, "handshake.ok", r.next().Type)
		r.text(`{"v":1,"t":"room.join_or_create","rid":"joins","p":{"roomType":"lobby"}}`)
		require.NoError(t, r.Write(t.Context(), websocket.MessageBinary, frame))
		r.text(`{"v":1,"t":"room.list","rid":"the last"}`)
		for {
			e := r.next()
			if e.Type == "rpc.response" && e.RID == "the last" {
				require.Equal(t, true, e.P["ok"])
				break
			}
		}
	})
	require.NotContains(f, v.log.String(), "panic")
}
