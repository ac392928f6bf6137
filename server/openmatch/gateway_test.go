package openmatch_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

const (
	frontendPath = "/v1/frontendservice"
	backendPath  = "/v1/backendservice"
	queryPath    = "/v1/queryservice"
)

// Pins REST that differs from Open Match's in paths, verbs, names of fields, numbers, or omitted fields.
func TestOverREST(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.rest(http.MethodPost, frontendPath+"/tickets", `{"ticket": {"searchFields": {"doubleArgs": {"mmr": 1, "top": "Infinity"}, "tags": ["a"]}, "unheard_of": 1,
		"extensions": {"x": {"@type": "type.googleapis.com/openmatch.DefaultEvaluationCriteria", "score": 2}}}}`)
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.Equal(t, "application/json", a.Header.Get("Content-Type"))
	require.Equal(t, "application/grpc", a.Header.Get("Grpc-Metadata-Content-Type"))
	var created pb.Ticket
	require.NoError(t, protojson.Unmarshal([]byte(a.Body), &created))
	id := created.GetId()
	got, err := b.ticket(id)
	require.NoError(t, err)
	same(t, got, &created)
	fields := object(t, a.Body)
	require.ElementsMatch(t, []string{"id", "search_fields", "extensions", "create_time"},
		slices.Collect(maps.Keys(fields)))
	require.Equal(t, map[string]any{"mmr": 1.0, "top": "Infinity"},
		fields["search_fields"].(map[string]any)["double_args"])

	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{http.MethodGet, frontendPath + "/tickets/x", "", 404, `{"code":5,"message":"Ticket id: x not found"}`},
		{http.MethodPost, frontendPath + "/tickets", `{}`, 400, `{"code":3,"message":".ticket is required"}`},
		{http.MethodDelete, frontendPath + "/tickets/x", "", 200, `{}`},
		{http.MethodGet, frontendPath + "/tickets/x/assignments", "", 404, `{"error":{"code":5,"message":"Ticket id: x not found"}}`},
		{http.MethodPost, queryPath + "/ticketids:query", `{"pool": {"tag_present_filters": [{"tag": "a"}]}}`, 200, `{"result":{"ids":["` + id + `"]}}`},
		{http.MethodPost, queryPath + "/ticketids:query", `{"pool": {"tagPresentFilters": [{"tag": "b"}]}}`, 200, ``},
		{http.MethodPost, queryPath + "/ticketids:query", `{"pool": {"doubleRangeFilters": [{"doubleArg": "top", "max": "Infinity", "exclude": "MIN"}]}}`, 200, `{"result":{"ids":["` + id + `"]}}`},
		{http.MethodPost, queryPath + "/ticketids:query", `{"pool": {"doubleRangeFilters": [{"doubleArg": "top", "max": "Infinity", "exclude": 2}]}}`, 200, ``},
		{http.MethodPost, queryPath + "/tickets:query", `{}`, 400, `{"error":{"code":3,"message":".pool is required"}}`},
		{http.MethodPost, queryPath + "/backfills:query", `{"pool": {}}`, 200, ``},
		{http.MethodPost, backendPath + "/tickets:assign", `{"assignments": [{"ticket_ids": ["x"], "assignment": {}}]}`, 200, `{"failures":[{"ticket_id":"x","cause":"TICKET_NOT_FOUND"}]}`},
		{http.MethodPost, backendPath + "/tickets:release", `{"ticket_ids": ["x"]}`, 200, `{}`},
		{http.MethodPost, backendPath + "/tickets:releaseall", `{}`, 200, `{}`},
		{http.MethodPost, backendPath + "/matches:fetch", `{}`, 400, `{"error":{"code":3,"message":".config is required"}}`},
		{http.MethodPost, backendPath + "/matches:fetch", `{"config": {}}`, 400, `{"error":{"code":3,"message":".profile is required"}}`},
		{http.MethodGet, frontendPath + "/nothing", "", 404, `{"code":5,"message":"Not Found"}`},
		{http.MethodPut, frontendPath + "/tickets", "", 501, `{"code":12,"message":"Method Not Allowed"}`},
		{http.MethodGet, backendPath + "/tickets:assign", "", 501, `{"code":12,"message":"Method Not Allowed"}`},
		{http.MethodPost, frontendPath + "/backfills/x/acknowledge", `{"assignment": {}}`, 404, `{"code":5,"message":"Backfill id: x not found"}`},
	} {
		a := b.rest(c.method, c.path, c.body)
		require.Equal(t, c.status, a.Status, "%s %s: %s", c.method, c.path, a.Body)
		require.Equal(t, c.answer, compact(t, a.Body), "%s %s", c.method, c.path)
	}
	unreadable := b.rest(http.MethodPost, frontendPath+"/tickets", `{"ticket": {"extensions": {"x": {"@type": "type.googleapis.com/somebody.elses.Type"}}}}`)
	require.Equal(t, http.StatusBadRequest, unreadable.Status, unreadable.Body)
	large := b.rest(http.MethodPost, frontendPath+"/tickets", strings.Repeat(" ", 4<<20+1))
	require.Equal(t, http.StatusTooManyRequests, large.Status, "gRPC's word for it is ResourceExhausted")
	for _, path := range []string{"/v1/matchfunction:run", "/v1/evaluator/matches:evaluate", "/v1/other", "/v1"} {
		require.Contains(t, b.rest(http.MethodPost, path, "{}").Body, `"title"`, "not ours to serve")
	}
}

func object(t *testing.T, text string) (o map[string]any) {
	require.NoError(t, json.Unmarshal([]byte(text), &o), text)
	return o
}

// Pins 64-bit numbers in a backfill's JSON, which are strings, and the verbs of its paths.
func TestBackfillsOverREST(t *testing.T) {
	t.Parallel()
	b := setup(t)
	created := object(t, b.rest(http.MethodPost, frontendPath+"/backfills", `{"backfill": {"generation": "7"}}`).Body)
	require.Equal(t, "1", created["generation"])
	id := created["id"].(string)
	updated := object(t, b.rest(http.MethodPatch, frontendPath+"/backfills", `{"backfill": {"id": "`+id+`"}}`).Body)
	require.Equal(t, "2", updated["generation"])
	acked := object(t, b.rest(http.MethodPost, frontendPath+"/backfills/"+id+"/acknowledge", `{"assignment": {"connection": "c"}}`).Body)
	require.Equal(t, "2", acked["backfill"].(map[string]any)["generation"])
	require.Equal(t, http.StatusOK, b.rest(http.MethodDelete, frontendPath+"/backfills/"+id, "").Status)
	require.Equal(t, http.StatusNotFound, b.rest(http.MethodGet, frontendPath+"/backfills/"+id, "").Status)
}

// Pins pages that are merged into one, or not sent as lines.
func TestLinesOverREST(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.PageSize = 1 })
	for range 3 {
		b.create(&pb.Ticket{})
	}
	a := b.rest(http.MethodPost, queryPath+"/tickets:query", `{"pool": {}}`)
	lines := strings.Split(strings.TrimSuffix(a.Body, "\n"), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		require.Len(t, object(t, line)["result"].(map[string]any)["tickets"], 1)
	}
}

// Pins a watcher over REST that the server's deadlines cut off, here after a second, and one that delays the server's
// stop.
func TestWatchingOverREST(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(&pb.Ticket{}).GetId()
	lines := make(chan string, 10)
	go func() {
		defer close(lines)
		res, err := b.web.Client().Do(b.request(http.MethodGet, frontendPath+"/tickets/"+id+"/assignments", ""))
		if err != nil {
			lines <- err.Error()
			return
		}
		defer res.Body.Close()
		read := bufio.NewScanner(res.Body)
		for read.Scan() {
			lines <- read.Text()
		}
	}()
	pause := time.NewTimer(1500 * time.Millisecond) // longer than any deadline of the server
	defer pause.Stop()
	<-pause.C
	for i := range 2 {
		b.assign(fmt.Sprint("host:", i), id)
		require.JSONEq(t, fmt.Sprintf(`{"result":{"assignment":{"connection":"host:%d"}}}`, i), <-lines)
	}
	b.server.EndStreams()
	require.JSONEq(t, `{"error":{"code":14,"message":"this replica is stopping: retry, another one answers"}}`, <-lines)
	_, more := <-lines
	require.False(t, more)
}

// Pins a request over REST whose options are lost.
func TestOptionsOverREST(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.rest(http.MethodPost, frontendPath+"/tickets", `{"ticket": {}}`, "Grpc-Metadata-director-ticket-ttl", "soon")
	require.Equal(t, http.StatusBadRequest, a.Status)
	require.Contains(t, a.Body, "director-ticket-ttl must be")
}

// Pins a request body without end that is read for longer than the server's read timeout.
func TestASlowBody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := webtest.Dial(t, b.web.Listener.Addr().String())
	_, err := fmt.Fprintf(conn, "POST %s/tickets HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", frontendPath)
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(wait)))
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "400 Bad Request")
}
