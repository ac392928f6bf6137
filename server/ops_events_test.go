package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// logOf calls GET /ops/events with a query, and returns the events and the last line.
func (b *bundle) logOf(query string) (events []opsview.EventLine, cursor string, more bool) {
	b.t.Helper()
	a := b.ops(http.MethodGet, "events"+query, nil)
	require.Equal(b.t, http.StatusOK, a.status, "%s: %s", query, a.body)
	require.Equal(b.t, "application/x-ndjson", a.header.Get("Content-Type"))
	lines := strings.Split(strings.TrimSuffix(string(a.body), "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		var e opsview.EventLine
		require.NoError(b.t, json.Unmarshal([]byte(line), &e), line)
		events = append(events, e)
	}
	var last struct {
		Cursor string
		More   *bool
	}
	require.NoError(b.t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	require.NotNil(b.t, last.More)
	return events, last.Cursor, *last.More
}

// Pins a page that leaves an event out, has one twice, or whose cursor stands behind an event that it has not shown.
func TestTheLogAsPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.store.Exec(`INSERT INTO events (region, kind, instance_id, detail)
		SELECT 'eu', CASE WHEN n % 3 = 0 THEN 'instance.ready' ELSE 'instance.ended' END, 'i-' || n % 2, jsonb_build_object('n', n) FROM generate_series(1, 2500) n`)
	for query, want := range map[string]int{"?kinds=instance.*&limit=300": 2500, "?kinds=instance.ready&limit=7": 833, "?instance=i-1": 1250, "?region=us": 0} {
		var all []opsview.EventLine
		for cursor, more := "", true; more; {
			var events []opsview.EventLine
			after := ""
			if cursor != "" {
				after = "&after=" + cursor
			}
			events, cursor, more = b.logOf(query + after)
			all = append(all, events...)
		}
		require.Len(t, all, want, query)
		seen := map[string]bool{}
		for _, e := range all {
			require.False(t, seen[e.Cursor])
			seen[e.Cursor] = true
		}
	}
}

func TestTheLogSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for query, field := range map[string]string{
		"?kinds=session.close": "kinds", "?kinds=": "", "?kinds=[": "kinds", "?limit=0": "limit", "?limit=1001": "limit", "?limit=x": "limit", "?after=7": "after", "?after=x/y": "after",
	} {
		a := b.ops(http.MethodGet, "events"+query, nil)
		if field == "" {
			require.Equal(t, http.StatusOK, a.status, query)
			continue
		}
		require.Equal(t, []string{field}, a.named(), query)
	}
	gone := b.ops(http.MethodGet, "events?after=1/0b6bb4a5-6f2f-4d4e-a7a6-5d1d3b3f0d52", nil)
	require.Contains(t, gone.problem(http.StatusGone, "cursor_gone")["detail"], "dropped after its retention")
	require.Equal(t, http.StatusUnauthorized, b.get("/ops/events").status)
}

// A stream begins now, continues after its last id, and leaves nothing out in between.
func TestTheLogAsAStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	insert := func(kind string) { b.store.Exec("INSERT INTO events (kind) VALUES ($1)", kind) }
	insert("key.made")
	stream := func(status int, change ...func(*http.Request)) <-chan webtest.Event {
		change = append(change, header("Authorization", "Bearer "+opsToken), header("Accept", "text/event-stream"))
		a, events := webtest.Events(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
			b.request(http.MethodGet, "/ops/events?kinds=key.*", nil, change...))
		require.Equal(t, status, a.Status)
		return events
	}
	events := stream(http.StatusOK)
	insert("session.opened")
	insert("key.advanced")
	first := webtest.NextEvent(t, events)
	for first.Name == "key.made" { // of the start: transactions of other tests may keep it out of the log until now
		first = webtest.NextEvent(t, events)
	}
	require.Equal(t, "key.advanced", first.Name)
	require.Equal(t, first.ID, first.Fields()["cursor"])
	insert("key.tainted")
	require.Equal(t, "key.tainted", webtest.NextEvent(t, events).Name)
	require.Equal(t, "key.tainted", webtest.NextEvent(t, stream(http.StatusOK, header("Last-Event-ID", first.ID))).Name)
	stream(http.StatusGone, header("Last-Event-ID", "1/0b6bb4a5-6f2f-4d4e-a7a6-5d1d3b3f0d52"))
}

func TestTheKeysOfWebhooksArePublished(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.get("/.well-known/webhook-keys.json")
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.header.Get("Cache-Control"), "max-age=")
	var set struct{ Keys []struct{ KID, Key string } }
	require.NoError(t, json.Unmarshal(a.body, &set))
	require.NotEmpty(t, set.Keys)
	require.True(t, strings.HasPrefix(set.Keys[0].Key, "whpk_"))
	again := b.get("/.well-known/webhook-keys.json", header("If-None-Match", a.header.Get("ETag")))
	require.Equal(t, http.StatusNotModified, again.status)
}
