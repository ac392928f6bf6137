package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/server/realtime/wire"
)

func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	v := serve(t)
	for _, codec := range []string{"json", "msgpack"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			c := v.client(withCodec(codec))
			room := c.Join(t, "counter_plugin_room", "", nil)
			for name, q := range map[string]struct {
				kind, room string
				p          map[string]any
				code, text string
			}{
				"unknown": {"room.fly", "", nil, "unknown_type", "unknown message type"},
				"no room": {"room.message", "", map[string]any{"type": "x"}, "room_required", "room id is required"},
				"no such room": {"room.message", "elsewhere", map[string]any{"type": "x"}, "room_not_found",
					"room not found"},
				"not a member": {"room.leave", "nowhere", nil, "room_not_found", "room not found"},
				"blank room":   {"room.join_or_create", "", map[string]any{"roomId": "a b"}, "invalid", ""},
				"long room": {"room.join_or_create", "", map[string]any{"roomId": strings.Repeat("x", 129)}, "invalid",
					""},
				"odd type": {"room.join_or_create", "", map[string]any{"roomType": "no_such_type"},
					"unsupported_room_type", "unsupported room type"},
				"other type": {"room.join_or_create", "", map[string]any{"roomType": "echo_room", "roomId": room},
					"unsupported_room_type", "unsupported room type"},
				"no logic":   {"room.join_or_create", "", map[string]any{"roomType": "echo_room"}, "", ""},
				"no type":    {"room.message", room, map[string]any{"data": 1}, "invalid", ""},
				"bad base64": {"room.message.bytes", room, map[string]any{"type": "x", "data_b64": "a"}, "invalid", ""},
				"large": {"room.message", room,
					map[string]any{"type": "x", "data": strings.Repeat("x", wire.MaxPayload)}, "too_large",
					"payload exceeds maximum size"},
				"input": {"input.delta", room, map[string]any{"x": 1}, "refused", "not served here"},
				"resync": {"state.resync", "elsewhere", map[string]any{"since": 1}, "not_a_member",
					"client not found"},
			} {
				answer := c.Ask(t, q.kind, q.room, q.p)
				require.Equal(t, q.code == "", answer.OK(), "%s: %v", name, answer)
				require.Equal(t, q.code, answer.Code(), name)
				if q.text != "" {
					require.Equal(t, q.text, answer["error"], name)
				}
			}
			answer := c.Ask(t, "room.message", "echo_room:default", map[string]any{"type": "x"})
			require.Equal(t, "no_logic", answer.Code())
		})
	}
}

// Frames that are no envelopes are answered by their rid, in either codec and with either opcode.
func TestBrokenFramesAreAnswered(t *testing.T) {
	t.Parallel()
	v := serve(t)
	r := v.shaken()
	for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
		for frame, want := range map[string][2]string{
			`{"v":2,"t":"x","rid":"a"}`:              {"unsupported_version", "unsupported protocol version: 2"},
			`{"v":1,"rid":"a"}`:                      {"type_required", "message type is required"},
			`{"v":1,"t":" ","rid":"a"}`:              {"type_required", "message type is required"},
			`{"v":1,"t":"x","rid":"a","room":1}`:     {"bad_frame", ""},
			`{"rid":"a","v":1,"t":"room.list","p":{`: {"bad_frame", ""},
			`{"v":1,"t":"x","rid":"a","p":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`: {"bad_frame", ""},
		} {
			require.NoError(t, r.Write(t.Context(), kind, []byte(frame)))
			e := r.next()
			require.Equal(t, "rpc.response", e.Type, frame)
			require.Equal(t, "a", e.RID, frame)
			require.Equal(t, false, e.P["ok"], frame)
			require.Equal(t, want[0], e.P["code"], frame)
			if want[1] != "" {
				require.Equal(t, want[1], e.P["error"], frame)
			}
		}
	}
}

// Pins answers that lack what Nexis' server sends: ok of a list without rid, and the room that a join was about.
func TestAnswersSayWhatNexisSays(t *testing.T) {
	t.Parallel()
	v := serve(t)
	r := v.shaken()
	r.text(`{"v":1,"t":"room.list","p":{"roomType":"echo_room"}}`)
	e := r.next()
	require.Equal(t, "room.list", e.Type)
	require.Equal(t, map[string]any{"ok": true, "rooms": []any{}}, e.P)
	r.text(`{"v":1,"t":"room.join_or_create","rid":"a","p":{"roomType":"nothing"}}`)
	e = r.next()
	require.Equal(t, "unsupported room type", e.P["error"])
	require.Equal(t, "nothing:default", e.Room)
}

func TestGarbageIsReportedOnceASecondAndThenClosed(t *testing.T) {
	t.Parallel()
	v := serve(t)
	r := v.shaken()
	for range maxGarbage - 1 {
		r.text("garbage")
	}
	r.text(`{"v":1,"t":"echo","rid":"a"}`) // which ends the series
	for range maxGarbage {
		r.text("garbage")
	}
	frames, code := r.closed()
	require.Equal(t, closeBadRequest, code)
	counts := map[string]int{}
	for _, e := range frames {
		counts[e.Type]++
	}
	require.Equal(t, 1, counts["rpc.response"])
	require.Equal(t, 1, counts["echo"])
	require.Less(t, counts["error"], 3, "one a second")
	require.Positive(t, counts["error"])
}

func TestAFrameThatIsTooLongIsClosed(t *testing.T) {
	t.Parallel()
	v := serve(t)
	r := v.shaken()
	frame := `{"v":1,"t":"echo","rid":"a","p":"` + strings.Repeat("x", maxFrame-35) + `"}`
	require.Len(t, frame, maxFrame)
	r.text(frame)
	e := r.next()
	require.Equal(t, "too_large", e.P["code"])
	require.Equal(t, "a", e.RID)
	require.NoError(t, r.Write(t.Context(), websocket.MessageBinary, []byte(frame+" ")))
	_, code := r.closed()
	require.Equal(t, websocket.StatusMessageTooBig, code)
}

func TestRatesAreAnswered(t *testing.T) {
	t.Parallel()
	v := serve(t)
	c := v.client()
	answers := map[string]int{}
	var waits []func() (realtimetest.Response, error)
	for range framesBurst + 300 {
		_, wait := c.Begin(t.Context(), "echo", "", map[string]any{})
		waits = append(waits, wait)
	}
	for _, wait := range waits {
		answer, err := wait()
		require.NoError(t, err)
		answers[answer.Code()]++
	}
	require.GreaterOrEqual(t, answers[""], framesBurst)
	require.Equal(t, framesBurst+300, answers[""]+answers["rate_limited"])
	require.Positive(t, answers["rate_limited"])
}

// A defect costs the frame its effect, and neither the answer nor the connection.
func TestAPanicIsAnswered(t *testing.T) {
	t.Parallel()
	v := serve(t)
	boom := func() (rpcAnswer, error) { panic("boom") }
	v.rpcs["begin.boom"] = func(context.Context, *conn,
		wire.Envelope) (func() (rpcAnswer, error), error) {
		panic("boom")
	}
	v.rpcs["finish.boom"] = func(context.Context, *conn,
		wire.Envelope) (func() (rpcAnswer, error), error) {
		return boom, nil
	}
	c := v.client()
	for _, kind := range []string{"begin.boom", "finish.boom"} {
		require.Equal(t, "unavailable", c.Ask(t, kind, "", nil).Code())
	}
	require.Equal(t, 2, v.log.Count(`goroutine="realtime action"`))
	require.True(t, c.Ask(t, "echo", "", map[string]any{}).OK())
}

// While 64 actions are under way, the 65th is not read, and the client is not taken for dead.
func TestReadingPausesForActions(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.timing.pongWithin = 20 * time.Millisecond })
	begun, goOn := make(chan string, 100), make(chan struct{})
	v.rpcs["wait"] = func(_ context.Context, _ *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
		begun <- e.RID
		return func() (rpcAnswer, error) { <-goOn; return rpcAnswer{}, nil }, nil
	}
	r := v.shaken()
	for i := range maxActions + 1 {
		r.text(fmt.Sprintf(`{"v":1,"t":"wait","rid":"%d"}`, i))
	}
	for i := range maxActions {
		require.Equal(t, fmt.Sprint(i), <-begun)
	}
	c := v.openConns()[0]
	paused := func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.isPaused }
	require.Eventually(t, paused, patience, time.Millisecond)
	require.Empty(t, begun)
	require.True(t, c.onSilence(false))
	close(goOn)
	require.Equal(t, fmt.Sprint(maxActions), <-begun)
	for range maxActions + 1 {
		require.Equal(t, true, r.next().P["ok"])
	}
}

func TestSerialActionsRunInTheOrderOfFrames(t *testing.T) {
	t.Parallel()
	v := serve(t)
	var order []string // guarded by being serial
	v.rpcs["serial"] = runInOrder(func(_ context.Context, _ *conn, e wire.Envelope) (rpcAnswer, error) {
		order = append(order, e.RID)
		return rpcAnswer{}, nil
	})
	c := v.client()
	var waits []func() (realtimetest.Response, error)
	var expected []string
	for range 60 {
		rid, wait := c.Begin(t.Context(), "serial", "", nil)
		waits, expected = append(waits, wait), append(expected, rid)
	}
	for _, wait := range waits {
		answer, err := wait()
		require.NoError(t, err)
		require.True(t, answer.OK())
	}
	require.Equal(t, expected, order)
}

func TestWithoutTheConformanceSwitchPositionsAreRefusedOnceAMinute(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.Conformance = false })
	r := v.shaken()
	for range 10 {
		r.text(`{"v":1,"t":"position.update","room":"a","p":{}}`)
	}
	r.text(`{"v":1,"t":"echo","rid":"last","p":[1,"x",null]}`)
	require.Equal(t, seen{Type: "error",
		P: map[string]any{"reason": "not served here", "code": "refused", "room": "a"}}, r.next())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var answer seen
	for answer.Type == "" { // the event before the answer has no object
		_, frame, err := r.Read(ctx)
		require.NoError(t, err)
		if strings.Contains(string(frame), `"rpc.response"`) {
			require.NoError(t, json.Unmarshal(frame, &answer))
		}
	}
	require.Equal(t, seen{Type: "rpc.response", RID: "last", P: map[string]any{"ok": true}}, answer)
}
