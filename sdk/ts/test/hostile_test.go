package sdkts_test

import (
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
	http.Handler

	serving sync.WaitGroup
	most    atomic.Int64 // bytes of the longest answer that a client read, with what the sockets in between hold
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
			if written += int64(n); err != nil {
				break
			}
		}
		for old := i.most.Load(); written > old && !i.most.CompareAndSwap(old, written); old = i.most.Load() {
		}
	}
}

// serveImpostor lets pages of all origins call it.
func serveImpostor(t testing.TB) (i *impostor, url string) {
	t.Helper()
	i = &impostor{}
	mux := http.NewServeMux()
	mux.HandleFunc("OPTIONS /", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /matchmake", i.flood("application/json", strings.Repeat("x", 64<<10)))
	mux.HandleFunc("GET /tickets/line/events", i.flood("text/event-stream", strings.Repeat("x", 64<<10)))
	mux.HandleFunc("GET /tickets/event/events", i.flood("text/event-stream", "data: "+strings.Repeat("x", 1000)+"\n"))
	mux.HandleFunc("GET /tickets/garbage/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {]\n\n"))
	})
	mux.HandleFunc("GET /tickets/{id}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, what := range []string{"Origin", "Headers", "Methods"} {
			w.Header().Set("Access-Control-Allow-"+what, map[bool]string{true: "*", false: "Authorization, Content-Type, Idempotency-Key, Last-Event-ID"}[what != "Headers"])
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return i, web.URL
}

// A page must not fill its memory with what another program than a director sends.
func boundsAnswers(r *rig) {
	i, url := serveImpostor(r)
	ask[any](r, "player", object{"player": "ada", "urls": []string{url}, "tokens": []string{r.token("ada", time.Hour)}})
	ask[any](r, "begin", object{"id": "match", "step": "matchmake", "args": object{"player": "ada", "request": duel}})
	require.Equal(r, "UnreachableError", ask[[]failure](r, "retries", object{"player": "ada", "n": 1})[0].Name)
	for _, id := range []string{"line", "event", "garbage"} {
		ask[any](r, "ticket", object{"player": "ada", "id": id})
		ask[any](r, "watch", object{"player": "ada"})
		_, failed := try[any](r, "watched", object{"player": "ada"})
		require.NotNil(r, failed, id)
		require.Equal(r, "UnreadableError", failed.Name, id)
	}
	ask[any](r, "abort", object{"player": "ada"})
	i.serving.Wait()
	require.NotZero(r, i.most.Load())
	require.Less(r, i.most.Load(), int64(16<<20))
}
