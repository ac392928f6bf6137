package peertest

import (
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// impostor is a server that answers where a director should, with more than a client may keep.
type impostor struct {
	serving sync.WaitGroup
	longest atomic.Int64 // bytes of the longest answer that a client read, with what the sockets in between hold
}

// flood writes a piece for as long as the client reads.
func (i *impostor) flood(contentType, piece string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i.serving.Add(1)
		defer i.serving.Done()
		w.Header().Set("Content-Type", contentType)
		var written int64
		for r.Context().Err() == nil {
			n, err := w.Write([]byte(piece))
			written += int64(n)
			if err != nil {
				break
			}
		}
		i.noteLength(written)
	}
}

// noteLength keeps the largest length of all answers, whichever connection ends last.
func (i *impostor) noteLength(written int64) {
	for {
		longest := i.longest.Load()
		if written <= longest || i.longest.CompareAndSwap(longest, written) {
			return
		}
	}
}

// serveStranger serves in place of a director. It lets pages of all origins call it.
func serveStranger(t testing.TB, handler http.Handler) (url string) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for header, allowed := range map[string]string{
			"Origin": "*", "Methods": "*", "Headers": "Authorization, Content-Type, Idempotency-Key, Last-Event-ID",
		} {
			w.Header().Set("Access-Control-Allow-"+header, allowed)
		}
		w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
		if r.Method != http.MethodOptions {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// serveImpostor serves answers without an end, and answers that are no JSON.
func serveImpostor(t testing.TB) (i *impostor, url string) {
	t.Helper()
	i = &impostor{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /matchmake", i.flood("application/json", strings.Repeat("x", 64<<10)))
	mux.HandleFunc("GET /tickets/line/events", i.flood("text/event-stream", strings.Repeat("x", 64<<10)))
	mux.HandleFunc("GET /tickets/event/events", i.flood("text/event-stream", "data: "+strings.Repeat("x", 1000)+"\n"))
	mux.HandleFunc("GET /tickets/garbage/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {]\n\n"))
	})
	mux.HandleFunc("GET /tickets/{id}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	return i, serveStranger(t, mux)
}

// A game must not fill its memory with what another program than a director sends.
func boundsAnswers(r *Rig) {
	i, url := serveImpostor(r.T)
	r.playerAt("ada", []string{r.token("ada", time.Hour)}, url)
	r.beginStep("match", "matchmake", object{"player": "ada", "request": duel})
	require.Equal(r.T, "UnreachableError", r.awaitRetries("ada", 1)[0].Name)
	for _, id := range []string{"line", "event", "garbage"} {
		ask[any](r, "ticket", object{"player": "ada", "id": id})
		ask[any](r, "watch", object{"player": "ada"})
		_, failed := try[any](r, "watched", object{"player": "ada"})
		require.NotNil(r.T, failed, id)
		require.Equal(r.T, "UnreadableError", failed.Name, id)
	}
	ask[any](r, "abort", object{"player": "ada"})
	i.serving.Wait()
	require.NotZero(r.T, i.longest.Load())
	// Far above what a client keeps: a browser on a busy machine reads for a while after its page has cancelled the
	// call.
	require.Less(r.T, i.longest.Load(), int64(64<<20))
}

// newerDirector sends states and fields that no release knows. Its first stream of events breaks in the middle of a
// line, its second is refused for a second.
type newerDirector struct {
	matchmakes, streams atomic.Int32
	mu                  sync.Mutex
	resumed             []string // the Last-Event-ID of each stream
}

func (d *newerDirector) matchmake(w http.ResponseWriter, _ *http.Request) {
	// The first call only, so that the client has to repeat it.
	if d.matchmakes.Add(1) == 1 {
		unavailable(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"session_handle": "eu.h", "session_id": "eu.s", "endpoint": "127.0.0.1:1", "region": "eu", "mode": "duel",
		"player_count": 1, "max_players": 8, "later": {"deep": [1, null, {"é": true}]}}`))
}

// unavailable refuses a call for a second.
func unavailable(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(`{"status": 503, "code": "unavailable", "title": "Unavailable", "later": 1}`))
}

// events serves a stream in two pieces that cut a character. The first stream also ends within a line.
func (d *newerDirector) events(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.resumed = append(d.resumed, r.Header.Get("Last-Event-ID"))
	d.mu.Unlock()
	attempt := d.streams.Add(1)
	if attempt == 2 {
		unavailable(w)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	first := `event: later` + "\n" + `data: {"ticket_id": "t1", "state": "pondering", "version": 1, "party": ["ada"], ` +
		`"detail": "é", "later": {"deep": [1]}}` + "\n\n"
	middle := strings.Index(first, "é") + 1 // é has two bytes
	// A stream may be cut anywhere, also within a character: clients must not decode the pieces by themselves.
	for _, piece := range []string{first[:middle], first[middle:]} {
		_, _ = w.Write([]byte(piece))
		_ = http.NewResponseController(w).Flush()
	}
	last := `data: {"ticket_id": "t1", "state": "assigned", "version": 2, "party": ["ada"], "session_handle": "eu.h"}` + "\n\n"
	if attempt == 1 {
		last = last[:len(last)/2]
	}
	_, _ = w.Write([]byte(last))
}

// A client works with a director that is newer than the client, that is overloaded, and whose stream breaks.
func understandsNewer(r *Rig) {
	var director newerDirector
	mux := http.NewServeMux()
	mux.HandleFunc("POST /matchmake", director.matchmake)
	mux.HandleFunc("GET /tickets/t1/events", director.events)
	r.playerAt("ada", []string{"a.b.c"}, serveStranger(r.T, mux))
	began := time.Now()
	m := ask[match](r, "matchmake", object{"player": "ada", "request": duel})
	require.Equal(r.T, "eu.s", m.SessionID)
	require.GreaterOrEqual(r.T, time.Since(began), time.Second, "Retry-After")
	require.Equal(r.T, 503, r.awaitRetries("ada", 1)[0].Status)

	ask[any](r, "ticket", object{"player": "ada", "id": "t1"})
	ask[any](r, "watch", object{"player": "ada"})
	ask[any](r, "watched", object{"player": "ada"})
	states := r.awaitState("ada", "assigned", 1)
	require.Equal(r.T, []string{"pondering 1", "assigned 2"}, texts(states))
	require.Equal(r.T, "é", states[0].Detail)
	// Read without the lock: all streams have ended.
	require.Equal(r.T, []string{"", "1", "1"}, director.resumed)
}

// The token of a player goes to the director only: not where a redirect leads, and not to a host whose certificate
// nobody has signed.
func keepsToken(r *Rig) {
	var reached atomic.Int32
	count := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	stranger := serveStranger(r.T, count)
	redirect := serveStranger(r.T, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, stranger+req.URL.Path, http.StatusTemporaryRedirect)
	}))
	r.playerAt("ada", []string{"a.b.c"}, redirect)
	_, failed := try[match](r, "matchmake", object{"player": "ada", "request": duel})
	require.NotNil(r.T, failed)
	require.Equal(r.T, "DirectorError", failed.Name)

	unsigned := httptest.NewUnstartedServer(count)
	unsigned.Config.ErrorLog = log.New(r.T.Output(), "", 0)
	unsigned.StartTLS()
	r.T.Cleanup(unsigned.Close)
	r.playerAt("bo", []string{"a.b.c"}, unsigned.URL)
	r.beginStep("match", "matchmake", object{"player": "bo", "request": duel})
	for _, err := range r.awaitRetries("bo", 2) {
		require.Equal(r.T, "UnreachableError", err.Name)
		require.NotContains(r.T, err.Message, "a.b.c")
	}
	ask[any](r, "abort", object{"player": "bo"})
	require.Zero(r.T, reached.Load())
}
