package realtime

import (
	"encoding/hex"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// Whatever a client sends, its connection answers the next request or is closed with a code that says why; others are
// served.
func FuzzConnection(f *testing.F) {
	join, _ := hex.DecodeString("de0004a17601a174b3726f6f6d2e6a6f696e5f6f725f637265617465a3726964a57270632d32a170de0003a8726f6f6d54797065a56c6f626279" +
		"a6726f6f6d4964d40000a76f7074696f6e73d40000") // as the SDK sends it
	for _, seed := range []string{
		`{"v":1,"t":"room.join_or_create","rid":"a","p":{"roomType":"lobby","options":{"name":7,"private":true}}}`,
		`{"v":1,"t":"room.message","rid":"a","room":"lobby:default","p":{"type":"set","data":{"key":"__proto__","value":{"a/b":1}}}}`,
		`{"v":1,"t":"room.message","rid":"a","room":"lobby:default","p":{"type":"start","data":{"size":1e300}}}`,
		`{"v":1,"t":"room.message.bytes","room":"lobby:default","p":{"type":1,"data_b64":"===="}}`,
		`{"v":1,"t":"state.ack","room":"lobby:default","p":{"seq":1e300,"checksum":"x"}}`, `{"v":1,"t":"state.resync","room":"lobby:default"}`,
		`{"v":1,"t":"matchmaking.enqueue","rid":"a","p":{"roomType":"a b","size":"3","latencies":{"eu":-1}}}`,
		`{"v":1,"t":"room.list","rid":"a","p":{"room_type":"lobby","filter":{"a":{"min":-1e400}},"order":"free","subscribe":true}}`,
		`{"v":1,"t":"room.update","rid":"a","room":"lobby:default","p":{"metadata":{"__proto__":"\ud800"},"max_members":1e300}}`,
		`{"v":1,"t":"room.join","rid":"a","p":{"code":"\u0000"}}`, `{"v":1,"t":"room.code","room":"lobby:default","p":{"renew":1}}`,
		`{"v":1,"t":"player.message","rid":"a","p":{"player":"\u0000","type":"say","data":{"text":"\u0000"}}}`,
		`{"v":1,"t":"presence.watch","rid":"a","p":{"players":["\u0000"]}}`, `{"v":1,"t":"room.history","room":"lobby:default","p":{"after":1e300}}`,
		`{"v":1,"t":"room.list","p":{"after":"\u0000","limit":-1}}`, `{"v":1,"t":"echo","p":null}`, `{"v":1,"t":"room.leave","rid":"","p":[]}`, string(join), "\x00",
	} {
		f.Add([]byte(seed))
	}
	v := serve(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) > maxFrame {
			return
		}
		r := v.raw(t)
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
