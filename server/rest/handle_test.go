package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/rest"
)

func TestHandleAnswersJSON(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	w := b.post(`{"id":"a<b&c","region":"eu"}`)
	require.Equal(t, http.StatusBadRequest, w.Code, "an id must not hold < or &")

	w = b.post(`{"id":"arena-1","region":"eu","labels":{"map":"<dust>"}}`)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"), "answers hold tokens")
	require.Contains(t, w.Body.String(), `"<dust>"`, "no HTML escapes in JSON")
	var answer joinAnswer
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	require.Equal(t, "arena-1", answer.ID)
}

// A 204 with a body or a Content-Type makes strict clients fail.
func TestHandleNoneWritesNoBody(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.POST("/leave", rest.Handle(http.StatusNoContent, func(context.Context, rest.In[joinRequest]) (rest.None, error) {
		return rest.None{}, nil
	}))
	w := b.serve(request(http.MethodPost, "/leave", `{"id":"a","region":"eu"}`))
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Empty(t, w.Body.String())
	require.Empty(t, w.Header().Get("Content-Type"))
}

func TestHandleGivesParamsQueryAndHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	type answer struct{ Param, Query, Header string }
	b.GET("/sessions/:id", rest.Handle(http.StatusOK, func(_ context.Context, in rest.In[rest.None]) (answer, error) {
		return answer{Param: in.Param("id"), Query: in.Query("page"), Header: in.Header("Idempotency-Key")}, nil
	}))
	w := b.get("/sessions/eu.7f%2F?page=2", "Idempotency-Key", "k1")
	require.Equal(t, http.StatusNotFound, w.Code, "with a slash in a parameter it is another path")
	w = b.get("/sessions/eu.7f?page=2", "Idempotency-Key", "k1")
	require.JSONEq(t, `{"Param":"eu.7f","Query":"2","Header":"k1"}`, w.Body.String())
}

// A value that cannot be encoded must not produce a truncated answer with status 200.
func TestHandleUnencodableAnswerIsInternal(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.GET("/nan", rest.Handle(http.StatusOK, func(context.Context, rest.In[rest.None]) (map[string]any, error) {
		return map[string]any{"a": 1, "load": math.NaN()}, nil
	}))
	w := b.get("/nan")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "internal", problem(t, w).Code)
}

// A batch may keep the handler's context after the call, while gin reuses its own for the next request.
func TestHandleContextOutlivesTheCall(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	var kept context.Context
	b.GET("/keep", rest.Handle(http.StatusOK, func(ctx context.Context, _ rest.In[rest.None]) (rest.None, error) {
		kept = ctx
		return rest.None{}, nil
	}))
	b.get("/keep", "X-Request-Id", "first")
	b.get("/fail", "X-Request-Id", "second")
	require.Equal(t, "first", rest.RequestID(kept))
}

func TestOutsideOfRequestsThereIsNoCallerAndNoID(t *testing.T) {
	t.Parallel()
	require.Empty(t, rest.Caller(context.Background()))
	require.Empty(t, rest.RequestID(context.Background()))
}

// Validation runs before the handler.
func TestHandleIsNotCalledWithBadRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	b.POST("/never", rest.Handle(http.StatusOK, func(context.Context, rest.In[joinRequest]) (rest.None, error) {
		return rest.None{}, errors.New("called")
	}))
	for _, body := range []string{``, `{}`, `{"id":"a","region":"EU"}`} {
		require.Equal(t, http.StatusBadRequest, b.serve(request(http.MethodPost, "/never", body)).Code, body)
	}
}
