package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/server/rest"
)

// joinRequest has a field of each type that faces use.
type joinRequest struct {
	ID          string            `json:"id"`
	Region      string            `json:"region"`
	Party       []string          `json:"party"`
	Seats       int               `json:"seats"`
	Load        *float64          `json:"load"`
	Drain       *bool             `json:"drain"`
	Labels      map[string]string `json:"labels"`
	Incarnation *uuid.UUID        `json:"incarnation"`
	Joined      []joinedEntry     `json:"joined"`
}

type joinedEntry struct {
	Sub string `json:"sub"`
	JTI string `json:"jti"`
}

func (r *joinRequest) Validate(c *rest.Check) {
	c.Match("id", r.ID, rest.ID)
	c.Match("region", r.Region, rest.Region)
	c.Count("party", len(r.Party), 0, 4)
	c.Each("party", r.Party, rest.Sub)
	c.Unique("party", r.Party)
	c.Range("seats", r.Seats, 0, 1024)
	for i, j := range r.Joined {
		at := c.Element("joined", i)
		at.Match("sub", j.Sub, rest.Sub)
		at.Match("jti", j.JTI, rest.JTI)
	}
}

type joinAnswer struct {
	ID     string      `json:"id"`
	Caller string      `json:"caller"`
	Echo   joinRequest `json:"echo"`
}

func join(ctx context.Context, in rest.In[joinRequest]) (joinAnswer, error) {
	return joinAnswer{ID: in.Body.ID, Caller: rest.Caller(ctx), Echo: in.Body}, nil
}

// bundle is an engine with one route, POST /join, and its log.
type bundle struct {
	*gin.Engine
	log *bytes.Buffer
}

func setup(t testing.TB, o rest.Options, before ...gin.HandlerFunc) bundle {
	t.Helper()
	b := bundle{log: new(bytes.Buffer)}
	o.Log = slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	engine := must.Get(rest.New(o))(t)
	engine.POST("/join", append(before, rest.Handle(http.StatusOK, join))...)
	b.Engine = engine
	return b
}

// fails adds a route, GET /fail, whose handler returns err.
func (b bundle) fails(err error) bundle {
	b.GET("/fail", rest.Handle(http.StatusOK, func(context.Context, rest.In[rest.None]) (rest.None, error) {
		return rest.None{}, err
	}))
	return b
}

func (b bundle) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

func (b bundle) get(path string, headers ...string) *httptest.ResponseRecorder {
	return b.serve(request(http.MethodGet, path, "", headers...))
}

func (b bundle) post(body string, headers ...string) *httptest.ResponseRecorder {
	return b.serve(request(http.MethodPost, "/join", body, headers...))
}

// lines returns the log records so far.
func (b bundle) lines(t testing.TB) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(b.log.String()) {
		record := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		lines = append(lines, record)
	}
	return lines
}

// request makes a request with a JSON body; headers are alternating names and values.
func request(method, path, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// helper is the common interface of *testing.T and *rapid.T.
type helper interface {
	require.TestingT
	Helper()
}

// problem reads a problem document and checks the members that all of them have.
func problem(t helper, w *httptest.ResponseRecorder) rest.Problem {
	t.Helper()
	var p rest.Problem
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), w.Body.String())
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, w.Code, p.Status)
	require.NotEmpty(t, p.Title)
	require.NotEmpty(t, p.Detail)
	require.Equal(t, "/docs#"+p.Code, p.Type)
	require.Equal(t, w.Header().Get("X-Request-Id"), p.RequestID)
	return p
}

func fields(p rest.Problem) []string {
	names := make([]string, len(p.Errors))
	for i, e := range p.Errors {
		names[i] = e.Field
	}
	return names
}
