package realtime

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// Who joins later reads what was said, with the same numbers and times as those who heard it.
func TestAJoinerReadsWhatWasSaid(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	first, second := here.client(withCodec("msgpack")), there.client()
	first.Join(t, "lobby", "lobby:1", nil)
	for _, text := range []string{"one", "two"} {
		first.Must(t, "room.message", "lobby:1", map[string]any{"type": "say", "data": map[string]any{"text": text}})
	}
	require.Equal(t, "not_a_member", second.Ask(t, "room.history", "lobby:1", nil).Code())
	second.Join(t, "lobby", "lobby:1", nil)
	first.Wait(t, "its messages", func(v *realtimetest.View) bool { return v.Count("room.message", "lobby:1") == 2 })
	history := second.Must(t, "room.history", "lobby:1", nil)["messages"].([]any)
	require.Len(t, history, 2)
	for i, heard := range first.EventsOf("room.message", "lobby:1") {
		delete(heard.P, "id") // of the delivery
		require.Equal(t, heard.P, history[i], "as it was heard")
		require.Equal(t, float64(i+1), heard.P["number"])
		require.Greater(t, heard.P["at"], 1.7e12)
	}
	require.Len(t, second.Must(t, "room.history", "lobby:1", map[string]any{"after": float64(1)})["messages"], 1)
}

// What the hook refuses is not said, and what it changes is said as it wants it.
func TestTextsAreChecked(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "damn"):
			_, _ = io.WriteString(w, `{"allow":false,"reason":"be kind"}`)
		case strings.Contains(string(body), "heck"):
			_, _ = io.WriteString(w, `{"allow":true,"data":{"text":"****"}}`)
		case strings.Contains(string(body), "broken"):
			w.WriteHeader(http.StatusInternalServerError)
		default:
			var m map[string]any
			_, _ = fmt.Fprintf(w, `{"allow":%t}`, json.Unmarshal(body, &m) == nil)
		}
	}))
	t.Cleanup(hook.Close)
	v := serve(t, func(o *Options) { o.TextHook = hook.URL })
	c := v.client()
	c.Join(t, "lobby", "lobby:1", nil)
	say := func(text string) realtimetest.Response {
		return c.Ask(t, "room.message", "lobby:1", map[string]any{"type": "say", "data": map[string]any{"text": text}})
	}
	require.True(t, say("hello").OK())
	refused := say("damn")
	require.Equal(t, [2]any{"text_refused", "be kind"}, [2]any{refused.Code(), refused["error"]})
	require.True(t, say("heck").OK())
	require.Equal(t, "unavailable", say("broken").Code(), "without an answer nothing is said")
	c.Must(t, "room.message", "lobby:1", map[string]any{"type": "x.emote", "data": map[string]any{"a": "damn"}})
	c.Wait(t, "the messages", func(v *realtimetest.View) bool { return v.Count("room.message", "lobby:1") == 3 })
	require.Equal(t, map[string]any{"text": "****"}, c.EventsOf("room.message", "lobby:1")[1].P["data"])
	require.Contains(t, v.log.String(), "check texts")

	open := serve(t, func(o *Options) { o.TextHook, o.TextHookFailOpen = hook.URL, true })
	other := open.client()
	other.Join(t, "chat", "chat:1", nil)
	other.Must(t, "room.message", "chat:1", map[string]any{"type": "say", "data": map[string]any{"text": "broken"}})
	require.Contains(t, open.log.String(), "check texts")
}
