package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

func TestEveryKindHasItsStatus(t *testing.T) {
	t.Parallel()
	want := map[fault.Kind]int{
		fault.NotFound: 404, fault.Conflict: 409, fault.NoCapacity: 409, fault.Superseded: 409, fault.Gone: 410,
		fault.Forbidden: 403,
		fault.Invalid:   400, fault.Mismatch: 422, fault.TooMany: 429, fault.Unavailable: 503, fault.Elsewhere: 421,
	}
	for kind := fault.NotFound; kind <= fault.Elsewhere; kind++ {
		err := fmt.Errorf("place: %w", &fault.Error{Kind: kind, Code: "some_code", Detail: "Words.",
			Err: errors.New("cause")})
		w := setup(t, rest.Options{}).fails(err).get("/fail")
		require.Equal(t, want[kind], w.Code, "kind %d", kind)
		p := problem(t, w)
		require.Equal(t, "some_code", p.Code)
		require.Equal(t, "Words.", p.Detail)
		require.NotContains(t, w.Body.String(), "cause", "the cause is for the log")
	}
	w := setup(t, rest.Options{}).fails(&fault.Error{Kind: 99, Code: "new", Detail: "?"}).get("/fail")
	require.Equal(t, http.StatusInternalServerError, w.Code, "a kind that is not in the table")
}

func TestFieldOfAStoreErrorIsNamed(t *testing.T) {
	t.Parallel()
	err := &fault.Error{Kind: fault.Invalid, Field: "party", Detail: "must contain the caller"}
	w := setup(t, rest.Options{}).fails(err).get("/fail")
	p := problem(t, w)
	require.Equal(t, "invalid_request", p.Code, "the code of the kind, since the error has none")
	require.Equal(t, []rest.FieldError{{Field: "party", Detail: "must contain the caller"}}, p.Errors)
}

// With a Retry-After of 0, clients would retry in a busy loop.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind fault.Kind
		wait time.Duration
		want string
	}{
		{fault.Unavailable, 0, "1"},
		{fault.Unavailable, time.Millisecond, "1"},
		{fault.Unavailable, 1001 * time.Millisecond, "2"},
		{fault.TooMany, 0, "1"},
		{fault.Conflict, 3 * time.Second, "3"},
		{fault.Conflict, 0, ""},
	} {
		w := setup(t, rest.Options{}).fails(&fault.Error{Kind: tc.kind, Detail: "x", RetryAfter: tc.wait}).get("/fail")
		require.Equal(t, tc.want, w.Header().Get("Retry-After"), "%+v", tc)
	}
}

// The text of an internal error may hold anything: SQL, addresses, keys.
func TestInternalErrorsAppearInTheLogOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{}).fails(errors.New("relation seats: permission denied"))
	w := b.get("/fail", "X-Request-Id", "find-me")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "internal", problem(t, w).Code)
	require.NotContains(t, w.Body.String(), "seats")

	lines := b.lines(t)
	require.Len(t, lines, 1)
	require.Equal(t, "relation seats: permission denied", lines[0]["error"])
	require.Equal(t, "find-me", lines[0]["request_id"])
	require.Equal(t, "ERROR", lines[0]["level"])
}

// While Postgres is unreachable, callers get a retryable error within the deadline.
func TestDeadlineIsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, rest.Options{})
		b.GET("/slow", rest.SetDeadline(900*time.Millisecond), rest.Handle(http.StatusOK,
			func(ctx context.Context, _ rest.In[rest.None]) (rest.None, error) {
				<-ctx.Done()
				return rest.None{}, fmt.Errorf("acquire: %w", ctx.Err())
			}))
		start := time.Now()
		w := b.get("/slow")
		require.Equal(t, 900*time.Millisecond, time.Since(start))
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		require.Equal(t, "unavailable", problem(t, w).Code)
	})
}

// A caller that disconnects is no failure of the director: counted as 503 it would raise alerts.
func TestClientGone(t *testing.T) {
	t.Parallel()
	for _, err := range []error{context.Canceled, &fault.Error{Kind: fault.Unavailable, Detail: "x"},
		errors.New("broken pipe")} {
		b := setup(t, rest.Options{}).fails(err)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		w := b.serve(request(http.MethodGet, "/fail", "").WithContext(ctx))
		require.Equal(t, 499, w.Code)
		require.Empty(t, w.Body.String())
		require.Equal(t, "INFO", b.lines(t)[0]["level"])
	}
}

// The caller is connected, but the operation that the call waited for was shut down.
func TestCanceledWithoutTheClientIsUnavailable(t *testing.T) {
	t.Parallel()
	w := setup(t, rest.Options{}).fails(context.Canceled).get("/fail")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
}
