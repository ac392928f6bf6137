package play_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// sink is a store that requires its arguments to be within the limits of the contract.
type sink struct{ t *testing.T }

func (sink) GameRegions(context.Context) ([]db.GameRegion, error) { return nil, nil }

func (s sink) Place(_ context.Context, r db.PlaceRequest) (db.Placement, error) {
	require.True(s.t, rest.Region.Valid(r.Region) && rest.Mode.Valid(r.Mode), "%+v", r)
	require.Contains(s.t, r.Party, r.Caller)
	require.True(s.t, len(r.Party) <= r.MaxPlayers && r.MaxPlayers <= 1024, "%+v", r)
	seen := map[string]bool{}
	for _, sub := range r.Party {
		require.True(s.t, rest.Sub.Valid(sub) && !seen[sub], "%+v", r)
		seen[sub] = true
	}
	require.Equal(s.t, r.IdempotencyKey != "", len(r.RequestHash) == 32, "a hash only with an idempotency key")
	return db.Placement{}, nil
}

func (s sink) Resolve(_ context.Context, handle, _ string) (db.Resolved, error) {
	require.NotContains(s.t, handle, "\x00")
	return db.Resolved{}, nil
}

func (s sink) Session(context.Context, string) (db.Placement, error) { return db.Placement{}, nil }

func (s sink) Sign(token.SessionClaims) (string, error) { return "signed", nil }

// engine authenticates every caller as alice.
func engine(t *testing.T) *gin.Engine {
	e := must.Get(rest.New(rest.Options{}))(t)
	e.Use(rest.RequireBearer(func(context.Context, string) (string, error) { return "alice", nil }, nil))
	return e
}

// FuzzPlay checks that no body makes the face fail or reaches the store with invalid values.
func FuzzPlay(f *testing.F) {
	for _, body := range []string{
		`{"region":"eu","mode":"duel"}`, `{"region":"eu","mode":"race","party":["alice","bob"],"max_players":2}`, `{"session_handle":"eu.x"}`,
		`{"region":"eu","mode":"duel","party":[null,"\u0000"],"max_players":1e9}`, `{"session_handle":null}`, "[[[", "\xff", "",
	} {
		f.Add("/matchmake", body)
		f.Add("/resolve", body)
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		if path != "/matchmake" && path != "/resolve" {
			return
		}
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer x")
		w := httptest.NewRecorder()
		e := engine(t)
		play.Mount(e, sink{t}, sink{t}, (*connect.Minter)(nil), play.Modes{"race": 2}, play.Parties{AreOpen: true})
		e.ServeHTTP(w, r)
		require.Less(t, w.Code, 500, "%s", w.Body)
	})
}

// The request hash depends on the meaning of the body and not on its spelling. Idempotency relies on it.
func TestHashDependsOnTheMeaning(t *testing.T) {
	t.Parallel()
	hash := func(body string) string {
		recorder := &hashes{sink: sink{t}}
		e := engine(t)
		play.Mount(e, recorder, recorder, (*connect.Minter)(nil), nil, play.Parties{AreOpen: true})
		r := httptest.NewRequest(http.MethodPost, "/matchmake", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer x")
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		require.NotEmpty(t, recorder.last)
		require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
		return recorder.last
	}
	same := hash(`{"region":"eu","mode":"duel","party":["alice","bob"]}`)
	require.Equal(t, same, hash(`{ "MODE":"duel", "party":["bob","alice"],"max_players":null,"x":1, "region":"e\u0075" }`))
	require.Equal(t, hash(`{"region":"eu","mode":"duel"}`), hash(`{"region":"eu","mode":"duel","party":["alice"]}`))
	for _, other := range []string{
		`{"region":"eu","mode":"duel","party":["alice","bob"],"max_players":8}`, `{"region":"us","mode":"duel","party":["alice","bob"]}`,
		`{"region":"eu","mode":"race","party":["alice","bob"]}`, `{"region":"eu","mode":"duel","party":["alice","bobby"]}`,
		`{"region":"eu","mode":"duel","party":["alice","b","ob"]}`,
	} {
		require.NotEqual(t, same, hash(other), other)
	}
}

type hashes struct {
	sink
	last string
}

func (h *hashes) Place(ctx context.Context, r db.PlaceRequest) (db.Placement, error) {
	h.last = string(r.RequestHash)
	return h.sink.Place(ctx, r)
}
