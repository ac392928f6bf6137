package orchestrator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEntityTags(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	etag := b.get("/v1/stats").Header().Get("ETag")
	for header, want := range map[string]int{
		etag: 304, "*": 304, `"x", ` + etag: 304, `"x",` + etag + `,"y"`: 304, `"x", *`: 304,
		strings.TrimPrefix(etag, "W/"): 200, `W/"0000000000000000"`: 200, strings.Trim(etag, `W/"`): 200, ",": 200,
	} {
		for _, path := range []string{"/v1/stats", "/v1/instances", "/v1/rooms", "/v1/rooms?type=none&limit=1"} {
			for _, method := range []string{"GET", "HEAD"} {
				w := b.call(method, path, "", "If-None-Match", header)
				require.Equal(t, want, w.Code, "%s %s", path, header)
				require.Equal(t, etag, w.Header().Get("ETag"))
				if want == 304 {
					require.Empty(t, w.Body.String())
					require.Empty(t, w.Header()["Content-Type"])
				}
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/stats", nil)
	r.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "If-None-Match": {`"x"`, etag}}
	require.Equal(t, 304, b.serve(r).Code, "a list in two headers")
	require.Equal(t, 200, b.get("/v1/rooms/match-42", "If-None-Match", "*").Code, "reads by id have no entity tag")
	empty := newRig(t, &fleet{}).get("/v1/stats")
	require.Equal(t, `W/"4f53cda18c2baa0c"`, empty.Header().Get("ETag"))
	require.JSONEq(t, `{"status":"OK","data":{"instances":0,"rooms":0,"connections":0,"roomTypes":[],"stateHash":"4f53cda18c2baa0c"}}`, empty.Body.String())
}

// page is a list with its next cursor.
type page struct {
	Data []struct{ ID string }
	Next *string
}

func (p page) ids() string {
	ids := make([]string, len(p.Data))
	for i, d := range p.Data {
		ids[i] = d.ID
	}
	return strings.Join(ids, " ")
}

func pageIn(t *testing.T, w *httptest.ResponseRecorder) (p page) {
	t.Helper()
	require.Equal(t, 200, w.Code, w.Body.String())
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	return p
}

func TestFiltersOfRooms(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	const both, lobby, none = "lobby%20%231%2F%C3%BC match-42", "lobby%20%231%2F%C3%BC", ""
	for query, want := range map[string]string{
		"type=lobby": lobby, "type=race": none, "type=lobby&type=match": both, "type=": both,
		"instanceId=562cfc2cbeef8cf4": both, "instanceId=0000000000000001": none, "instanceId=a&instanceId=b": both, "instanceId=": both,
		"type=lobby&instanceId=562cfc2cbeef8cf4": lobby,
		"label=region:eu":                        both, "label=region:us": none, "label=region:eu&label=tier:a:b": both, "label=region:eu&label=tier:a": none,
		"label=nocolon": both, "label=:eu": both, "label=region:": none, "label=": both, "label=missing:x": none, "label=region%3Aeu": both,
		"limit=": both, "unknown=1": both,
	} {
		require.Equal(t, want, pageIn(t, b.get("/v1/rooms?"+query)).ids(), query)
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	for path, want := range map[string][]string{
		"/v1/instances":         {"562cfc2cbeef8cf4", "0000000000000001"},
		"/v1/rooms":             {"lobby%20%231%2F%C3%BC", "match-42"},
		"/v1/rooms?type=match&": {"match-42"},
	} {
		join := "?"
		if strings.Contains(path, "?") {
			join = ""
		}
		after, got := "", []string{}
		for range want {
			p := pageIn(t, b.get(path+join+"limit=1&after="+url.QueryEscape(after)))
			got = append(got, p.ids())
			if len(got) == len(want) {
				require.Nil(t, p.Next, "the last page has no next")
				break
			}
			after = *p.Next
		}
		require.Equal(t, want, got)
		require.Nil(t, pageIn(t, b.get(path+join+"limit=1000")).Next)
	}
	for _, limit := range []string{"0", "-1", "1001", "x", "1.5", "99999999999999999999"} {
		rejected(t, b.get("/v1/rooms?limit="+limit), 400, "VALIDATION")
		rejected(t, b.get("/v1/instances?limit="+limit), 400, "VALIDATION")
	}
	require.Len(t, pageIn(t, b.get("/v1/rooms?after=nonsense")).Data, 2)
}

// While Postgres does not answer, reads by id return what the roster lists. Anything else is unknown, and never 404.
func TestReadsWithoutDatabase(t *testing.T) {
	t.Parallel()
	f := duelFleet()
	b := newRig(t, f)
	f.away = true
	for path, want := range map[string]string{
		"/v1/instances/562cfc2cbeef8cf4":       data(eu0JSON),
		"/v1/instances/562cfc2cbeef8cf4/rooms": data("[" + lobbyJSON + "," + matchJSON + "]"),
		"/v1/rooms/match-42":                   data(matchJSON),
	} {
		w := b.get(path)
		require.Equal(t, 200, w.Code)
		require.Equal(t, want, w.Body.String())
	}
	for _, path := range []string{"/v1/instances/x", "/v1/instances/x/rooms", "/v1/rooms/x"} {
		rejected(t, b.get(path), 503, "NOT_READY")
	}
	require.Equal(t, 200, b.get("/v1/instances").Code)
}
