package bench

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // these close idle connections, and end when none is left
		goleak.IgnoreTopFunction("github.com/valyala/fasthttp.(*Client).mCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"))
}

// fakeDirector accepts every call and counts calls.
type fakeDirector struct {
	server *httptest.Server

	mu       sync.Mutex
	calls    map[string]int // by path, and by method except for POST
	subs     map[string]int // calls of players, by method, path and token
	seen     map[string]int // calls by path, number of the region and modes
	capacity int            // the most of a game server
	players  int            // the most of a session
	endpoint string         // of the game server that registered last
}

// startFakeDirector starts one that has other handlers of some calls.
func startFakeDirector(t *testing.T, others map[string]http.HandlerFunc) *fakeDirector {
	t.Helper()
	d := &fakeDirector{calls: map[string]int{}, subs: map[string]int{}, seen: map[string]int{}}
	mux := http.NewServeMux()
	for path, handler := range d.defaults() {
		if other := others[path]; other != nil {
			handler = other
		}
		method := "POST "
		if strings.Contains(path, " ") {
			method = ""
		}
		mux.HandleFunc(method+path, func(w http.ResponseWriter, r *http.Request) { d.note(r); handler(w, r) })
	}
	d.server = httptest.NewServer(mux)
	t.Cleanup(d.server.Close)
	return d
}

// says answers with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func (d *fakeDirector) defaults() map[string]http.HandlerFunc {
	jwt := "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"jti":"the-token"}`)) + ".sig"
	return map[string]http.HandlerFunc{
		"/fleet/register":             says(http.StatusOK, `{"incarnation":"one"}`),
		"/fleet/heartbeat":            says(http.StatusOK, `{}`),
		"/fleet/deregister":           says(http.StatusNoContent, ""),
		"/fleet/seats":                says(http.StatusOK, `{"results":[{"result":"ok","status":200}]}`),
		"/fleet/noop":                 says(http.StatusOK, `{}`),
		"/noop":                       says(http.StatusOK, `{}`),
		"/login-queue":                says(http.StatusOK, `{"state":"admitted"}`),
		"/resolve":                    says(http.StatusOK, fmt.Sprintf(`{"session_token":%q}`, jwt)),
		"PUT /ops/profiles/{name}":    says(http.StatusOK, `{}`),
		"DELETE /ops/profiles/{name}": says(http.StatusOK, `{}`),
		"/tickets":                    says(http.StatusCreated, `{"ticket_id":"one","state":"queued","version":1}`),
		"GET /tickets/{id}": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("version") == "1" {
				fmt.Fprint(w, `{"state":"waiting_for_server","version":2}`) // before it is assigned
				return
			}
			fmt.Fprint(w, `{"state":"assigned","version":3}`)
		},
		"/matchmake": func(w http.ResponseWriter, _ *http.Request) {
			d.mu.Lock()
			defer d.mu.Unlock()
			fmt.Fprintf(w, `{"session_id":"s","session_handle":"h","endpoint":%q}`, d.endpoint)
		},
	}
}

// note counts a call and what it asks for.
func (d *fakeDirector) note(r *http.Request) {
	var body struct {
		registration
		Mode       string
		MaxPlayers int `json:"max_players"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	if r.Method == http.MethodDelete && r.Header.Get("Content-Type") != "" {
		return // a director refuses it
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[strings.TrimPrefix(r.Method+" ", "POST ")+r.URL.Path]++
	if who := r.Header.Get("Authorization"); who != "" {
		d.subs[r.Method+" "+r.URL.Path+" "+who]++
	}
	modes := strings.Join(append(body.Modes, body.Mode), ",")
	d.seen[r.URL.Path+" "+body.Region[strings.LastIndex(body.Region, "-")+1:]+" "+strings.Trim(modes, ",")]++
	d.capacity, d.players = max(d.capacity, body.Capacity), max(d.players, body.MaxPlayers)
	if body.Endpoint != "" {
		d.endpoint = body.Endpoint
	}
}

func options(d *fakeDirector, scenario Scenario) Options {
	return Options{
		Scenario: scenario, URLs: []string{d.server.URL}, Load: Load{Callers: 4, Instances: 2, Tickets: 200},
		WarmUp: 20 * time.Millisecond, Duration: 100 * time.Millisecond,
		AccessToken: func(sub string) (string, error) { return sub, nil },
	}
}

// worldOf is the world of a run before its first call.
func worldOf(t *testing.T, o Options) *world {
	t.Helper()
	require.NoError(t, o.Check())
	job := &Job{Options: o, ID: "test"}
	t.Cleanup(func() { require.NoError(t, job.end(context.WithoutCancel(t.Context()))) })
	return newWorld(t.Context(), job, shape{calls: 1, players: 1})
}
