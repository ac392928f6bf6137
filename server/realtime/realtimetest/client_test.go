package realtimetest_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/realtime/realtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// badServer accepts a handshake with JSON or MessagePack, reads a frame of the client, sends frames, and reads until
// the client is gone.
func badServer(t *testing.T, codec string, wait bool, frames ...string) (url string) {
	t.Helper()
	return webtest.ServeWebSocket(t, nil, func(ws *websocket.Conn, r *http.Request) {
		kind := websocket.MessageText
		ok := `{"v":1,"t":"handshake.ok","p":{"codec":"json","session_id":"s-1","resumed":false}}`
		if codec == "msgpack" {
			kind, ok = websocket.MessageBinary, "\x83\xa1v\x01\xa1t\xachandshake.ok\xa1p\x83\xa5codec\xa7msgpack\xaasession_id\xa3s-1\xa7resumed\xc2"
		}
		_, _, _ = ws.Read(r.Context())
		_ = ws.Write(r.Context(), kind, []byte(ok))
		if wait {
			_, _, _ = ws.Read(r.Context())
		}
		for _, frame := range frames {
			_ = ws.Write(r.Context(), kind, []byte(frame))
		}
		for err := error(nil); err == nil; {
			_, _, err = ws.Read(r.Context())
		}
	})
}

const (
	snapshot = `{"v":1,"t":"state.snapshot","room":"r","p":{"seq":1,"state":{"counter":0},"checksum":"c9d8c8bbb14dfcff0a55c6d434459f7d849a55ef3b11113dd26bc544b22d18da"}}`
	patch2   = `{"v":1,"t":"state.patch","room":"r","p":{"seq":2,"ops":[{"op":"set","path":"/counter","value":1}]}}`
	last     = `{"v":1,"t":"last"}`
)

func TestTheClientFindsWhatWouldBreakTheSDK(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		codec  string
		frames []string
		finds  string // "": nothing
	}{
		"nothing":               {"json", []string{snapshot, patch2}, ""},
		"a path of two keys":    {"json", []string{snapshot, strings.Replace(patch2, "/counter", "/a/b", 1)}, "is not one segment"},
		"the empty path":        {"json", []string{snapshot, strings.Replace(patch2, "/counter", "", 1)}, "is not one segment"},
		"a gap":                 {"json", []string{snapshot, strings.Replace(patch2, `"seq":2`, `"seq":3`, 1)}, "was not healed"},
		"a wrong checksum":      {"json", []string{strings.Replace(snapshot, "c9d8", "c9d9", 1)}, "the checksum of"},
		"a step back":           {"json", []string{snapshot, patch2, snapshot}, "steps back"},
		"a patch first":         {"json", []string{patch2}, "before its snapshot"},
		"a null checksum":       {"json", []string{`{"v":1,"t":"state.snapshot","room":"r","p":{"seq":1,"state":{},"checksum":null}}`}, "that the SDK ignores"},
		"an answer to nothing":  {"json", []string{`{"v":1,"t":"rpc.response","rid":"rpc-9","p":{"ok":true}}`}, "Unknown RPC rid"},
		"a null room":           {"json", []string{`{"v":1,"t":"x","room":null}`}, "room is no string"},
		"unsorted members":      {"json", []string{`{"v":1,"t":"room.members","room":"r","p":{"members":["b","a"],"count":2}}`}, "no sorted list"},
		"match.found in part":   {"json", []string{`{"v":1,"t":"match.found","room":"r","p":{"room":"r","room_type":"x","size":2}}`}, "match.found that the SDK ignores"},
		"a 64-bit integer":      {"msgpack", []string{"\x83\xa1v\x01\xa1t\xa1x\xa1p\x81\xa1n\xcf\x00\x00\x00\x00\x00\x00\x00\x01"}, "64-bit integer"},
		"a signed one":          {"msgpack", []string{"\x83\xa1v\x01\xa1t\xa1x\xa1p\x81\xa1n\xd3\x00\x00\x00\x00\x00\x00\x00\x01"}, "64-bit integer"},
		"an integer of 32 bits": {"msgpack", []string{"\x83\xa1v\x01\xa1t\xa1x\xa1p\x81\xa1n\xce\xff\xff\xff\xff"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := append(slices.Clone(test.frames), map[string]string{"json": last, "msgpack": "\x82\xa1v\x01\xa1t\xa4last"}[test.codec])
			c := connect(t, badServer(t, test.codec, true, frames...))
			require.NoError(t, c.Send(t.Context(), "go", "", nil))
			c.Wait(t, "the last frame", func(v *realtimetest.View) bool { return v.Count("last", "") == 1 })
			found := strings.Join(c.Violations(true), "\n")
			if test.finds == "" {
				require.Empty(t, found)
			}
			require.Contains(t, found, test.finds)
		})
	}
}

func connect(t *testing.T, url string) *realtimetest.Client {
	t.Helper()
	c := must.Get(realtimetest.Connect(t.Context(), realtimetest.Options{URL: url}))(t)
	t.Cleanup(c.Drop)
	return c
}

func TestTheClientFindsAnRPCWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	c := connect(t, badServer(t, "json", true))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := c.RPC(ctx, "room.list", "", nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, c.Violations(false), "it may still come")
	require.Equal(t, []string{"rpc-1 has no answer"}, c.Violations(true))
}

func TestTheClientIsDeafBehindTheHandshake(t *testing.T) {
	t.Parallel()
	c := connect(t, badServer(t, "json", false, last))
	c.Wait(t, "the frame", func(v *realtimetest.View) bool { return v.Count("last", "") == 1 })
	require.Contains(t, strings.Join(c.Violations(false), "\n"), "right behind handshake.ok")
}
