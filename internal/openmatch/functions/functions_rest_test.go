package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
)

// hangsREST is a match function that begins to answer and never ends.
func hangsREST(t *testing.T, called, gone chan<- struct{}) *pb.FunctionConfig {
	return functionstest.ServeREST(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintln(w, `{"result":{"proposal":{"matchId":"m"}}}`)
		w.(http.Flusher).Flush()
		called <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})
}

// answers is a match function with a constant answer.
func answers(t *testing.T, code int, body string) *pb.FunctionConfig {
	return functionstest.ServeREST(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
}

// Functions written for Open Match read camelCase: with the names of the protocol they would see an empty profile.
func TestRunRESTSendsCamelCase(t *testing.T) {
	t.Parallel()
	var sent map[string]any
	at := functionstest.ServeREST(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
			json.NewDecoder(r.Body).Decode(&sent) != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	profile := &pb.MatchProfile{Name: "duel", Pools: []*pb.Pool{{
		DoubleRangeFilters: []*pb.DoubleRangeFilter{{DoubleArg: "mmr", Min: 1, Max: 2}},
		TagPresentFilters:  []*pb.TagPresentFilter{{Tag: "beta"}},
	}}}
	require.NoError(t, makeFunctions(t).callFunction(t.Context(), at, profile, nil))
	require.Equal(t, map[string]any{"profile": map[string]any{"name": "duel", "pools": []any{map[string]any{
		"doubleRangeFilters": []any{map[string]any{"doubleArg": "mmr", "min": 1.0, "max": 2.0}},
		"tagPresentFilters":  []any{map[string]any{"tag": "beta"}},
	}}}}, sent)
}

// A stream is a sequence of objects, with any white space between them, field names in both forms, and unknown fields.
func TestRunRESTReadsStreams(t *testing.T) {
	t.Parallel()
	at := answers(t, http.StatusOK, `{"result":{"proposal":{"matchId":"a","tickets":[{"id":"t"}]}}}
		{"result":{"proposal":{"match_id":"b","backfill":{"generation":"7"}}}}{"result":{"proposal":{"matchId":"c","later":1}},"too":{}}`)
	var got []*pb.Match
	require.NoError(t, makeFunctions(t).callFunction(t.Context(), at, nil, func(m *pb.Match) error {
		got = append(got, m)
		return nil
	}))
	require.Len(t, got, 3)
	require.Equal(t, "t", got[0].GetTickets()[0].GetId())
	require.Equal(t, "b", got[1].GetMatchId())
	require.EqualValues(t, 7, got[1].GetBackfill().GetGeneration())
	require.Equal(t, "c", got[2].GetMatchId())
}

func TestRunRESTWithoutMatches(t *testing.T) {
	t.Parallel()
	ids, err := runs(t.Context(), makeFunctions(t), answers(t, http.StatusOK, ""))
	require.NoError(t, err)
	require.Empty(t, ids)
}

// Open Match has a fixed timeout of 3 s, whatever the cycle's intervals are. Here a function may run as long as its
// cycle allows.
func TestRunRESTWaitsForASlowFunction(t *testing.T) {
	t.Parallel()
	at := functionstest.ServeREST(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-time.After(3500 * time.Millisecond):
			fmt.Fprintln(w, `{"result":{"proposal":{"matchId":"late"}}}`)
		case <-r.Context().Done():
		}
	})
	ids, err := runs(t.Context(), makeFunctions(t), at)
	require.NoError(t, err)
	require.Equal(t, []string{"late"}, ids)
}

// Any invalid answer becomes the caller's error with its text. A response that is not a match function's is in the log
// only.
func TestRunRESTReturnsErrors(t *testing.T) {
	t.Parallel()
	const match = `{"result":{"proposal":{"matchId":"m"}}}`
	for name, c := range map[string]struct {
		code    int
		body    string
		told    codes.Code
		text    string
		matches int
	}{
		"an error of the function":     {200, match + `{"error":{"code":9,"message":"too few"}}`, codes.FailedPrecondition, "too few", 1},
		"an error at once":             {400, `{"error":{"code":3,"message":"no pools"}}`, codes.InvalidArgument, "no pools", 0},
		"an error without a stream":    {404, `{"code":5,"message":"Not Found"}`, codes.NotFound, "Not Found", 0},
		"an error of the old form":     {200, `{"error":{"grpc_code":3,"http_code":400,"message":"no pools"}}`, codes.Internal, "no pools", 0},
		"an error that is a text":      {200, `{"error":"boom"}`, codes.Internal, "boom", 0},
		"an error that is nothing":     {200, `{"error":{}}`, codes.Internal, "neither a result nor an error", 0},
		"an error that says all is ok": {200, `{"error":{"code":0,"message":"fine"}}`, codes.Internal, "fine", 0},
		"a page":                       {502, "<html>Bad Gateway</html>", codes.Internal, "502 Bad Gateway", 0},
		"a page that is fine":          {200, "<html>Welcome</html>", codes.Internal, "cannot be read", 0},
		"nothing but a status":         {500, "", codes.Internal, "500 Internal Server Error", 0},
		"results with a bad status":    {500, match, codes.Internal, "500 Internal Server Error", 0},
		"no content":                   {204, "", codes.Internal, "204 No Content", 0},
		"half an object":               {200, match + `{"result":{"propo`, codes.Internal, "cannot be read", 1},
		"another object":               {200, `{"matches":[]}`, codes.Internal, "neither a result nor an error", 0},
		"a list":                       {200, `[{"result":{}}]`, codes.Internal, "cannot be read", 0},
		"a proposal of another type":   {200, `{"result":{"proposal":7}}`, codes.Internal, "cannot be read", 0},
		"an Any of an unknown type":    {200, `{"result":{"proposal":{"extensions":{"x":{"@type":"type.googleapis.com/game.Unheard"}}}}}`, codes.Internal, "cannot be read", 0},
		"a long error":                 {200, `{"error":{"message":"` + strings.Repeat("x", 1<<20) + `"}}`, codes.Internal, "xxx", 0},
		"deeply nested":                {200, `{"result":` + strings.Repeat(`[`, 1<<20), codes.Internal, "cannot be read", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids, err := runs(t.Context(), makeFunctions(t), answers(t, c.code, c.body))
			err = causeOf(err)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, c.told, status.Code(err))
			require.Len(t, ids, c.matches)
			require.Less(t, len(err.Error()), 2*maxAnswerText)
		})
	}
}

// An answer whose connection is cut must not be taken for a complete one.
func TestRunRESTNoticesACutStream(t *testing.T) {
	t.Parallel()
	at := functionstest.ServeREST(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintln(w, `{"result":{"proposal":{"matchId":"m"}}}`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	ids, err := runs(t.Context(), makeFunctions(t), at)
	require.ErrorContains(t, err, "unexpected EOF")
	require.Len(t, ids, 1)
}

// An answer without end is cut off at the limit, and not kept in memory.
func TestRunRESTBoundsTheAnswer(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{"matches": `{"result":{"proposal":{"matchId":"m"}}}` + strings.Repeat(" ", 1<<16), "one object": strings.Repeat(" ", 1<<16)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := signal()
			at := functionstest.ServeREST(t, func(w http.ResponseWriter, r *http.Request) {
				defer func() { gone <- struct{}{} }()
				_, _ = io.Copy(io.Discard, r.Body)
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, piece); err != nil {
						return
					}
				}
			})
			f := makeFunctions(t)
			require.EqualValues(t, 64<<20, f.functionHTTP.maxAnswerBytes)
			f.functionHTTP.maxAnswerBytes = 1 << 20
			_, err := runs(t.Context(), f, at)
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			<-gone
		})
	}
}

// fewBytes is a memory of a few bytes.
type fewBytes struct {
	most       int64
	held, peak atomic.Int64
}

var errFewBytes = errors.New("no more bytes")

func (m *fewBytes) Hold(bytes int) error {
	held := m.held.Add(int64(bytes))
	if held > m.most {
		m.Release(bytes)
		return errFewBytes
	}
	for peak := m.peak.Load(); held > peak && !m.peak.CompareAndSwap(peak, held); peak = m.peak.Load() {
	}
	return nil
}

func (m *fewBytes) Release(bytes int) { m.held.Add(-int64(bytes)) }

// Pins objects of unbounded size, and an unbounded number of them, that are kept in memory until they are complete.
func TestRunRESTCountsWhatItReads(t *testing.T) {
	t.Parallel()
	object := `{"result":{"proposal":{"matchId":"m"` + strings.Repeat(" ", 100_000) + `}}}`
	for name, c := range map[string]struct {
		most    int64
		answer  string
		err     string
		matches int
	}{
		"objects one after the other": {4 << 20, strings.Repeat(object, 100), "", 100},
		"too little memory":           {100_000, object, errFewBytes.Error(), 0},
		"an object that is too large": {1 << 30, `{"result":"` + strings.Repeat("x", 9<<20), "an object of the answer has more than 8388608 bytes", 0},
		"an answer that breaks off":   {4 << 20, object[:60_000], errUnreachable.Error(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, m := makeFunctions(t), &fewBytes{most: c.most}
			f.limitMemory(m)
			ids, err := runs(t.Context(), f, answers(t, http.StatusOK, c.answer))
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
			require.Len(t, ids, c.matches)
			require.Zero(t, m.held.Load(), "all of it is released")
			require.Positive(t, m.peak.Load())
		})
	}
}

// A redirect would bypass the allow-list and reveal the network to the caller.
func TestRunRESTFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	at := functionstest.ServeREST(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusTemporaryRedirect)
	})
	_, err := runs(t.Context(), makeFunctions(t), at)
	require.ErrorContains(t, causeOf(err), "307")
}

func TestRunRESTOfAnUnreachableFunction(t *testing.T) {
	t.Parallel()
	l := functionstest.Listen(t, "127.0.0.1:0")
	l.Close()
	at := functionstest.ConfigOf(l.Addr())
	at.Type = pb.FunctionConfig_REST
	_, err := runs(t.Context(), makeFunctions(t), at)
	require.Equal(t, codes.Internal, status.Code(causeOf(err)))
}

// A restarted function has closed its connections. The next call must not fail on one of those.
func TestRunRESTFindsARestartedFunction(t *testing.T) {
	t.Parallel()
	f := makeFunctions(t)
	l := functionstest.Listen(t, "127.0.0.1:0")
	at := functionstest.ConfigOf(l.Addr())
	at.Type = pb.FunctionConfig_REST
	for range 3 {
		server := &http.Server{ReadHeaderTimeout: time.Second,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				fmt.Fprintln(w, `{"result":{"proposal":{"matchId":"m"}}}`)
			})}
		served := signal()
		go func() {
			_ = server.Serve(l)
			served <- struct{}{}
		}()
		ids, err := runs(t.Context(), f, at)
		require.NoError(t, err)
		require.Len(t, ids, 1)
		require.NoError(t, server.Close())
		<-served
		l = functionstest.Listen(t, l.Addr().String())
	}
	l.Close()
}

func TestRunRESTRefusesAProfileThatJSONCannotExpress(t *testing.T) {
	t.Parallel()
	profile := &pb.MatchProfile{Extensions: map[string]*anypb.Any{"x": functionstest.UnknownAny()}}
	err := makeFunctions(t).callFunction(t.Context(), answers(t, http.StatusOK, ""), profile, nil)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// Any server may answer anything.
func FuzzResults(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"result":{}}`, `{"result":null}`, `{"error":null}`, `{"error":{"code":16}}`, `{"error":{"code":-1}}`, `{"result":1}{"result":2}`, `{"code":99}`, "[", `{"result":`,
	} {
		f.Add(seed, 200)
	}
	f.Fuzz(func(t *testing.T, body string, code int) {
		recorded := httptest.NewRecorder()
		recorded.Code = 200 + code&0xff
		recorded.Body.WriteString(body)
		client := restClient{maxAnswerBytes: 1 << 20,
			http: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { return recorded.Result(), nil })}}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://mmf/", nil)
		request.RequestURI = ""
		_, err := client.readResults(request, func(result []byte) error {
			require.True(t, json.Valid(result))
			return nil
		})
		if err != nil {
			require.NotEqual(t, codes.OK, status.Code(err))
			require.NotEmpty(t, status.Convert(err).Message())
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
