package play_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/internal/testkit/cputime"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// BenchmarkCreateTicket creates tickets of single players from 64 callers at a time: on the client's word, with a
// claim, and with an attribute that a backend has stored. Compare the three of one run.
func BenchmarkCreateTicket(b *testing.B) {
	login := keytest.NewLogin(b)
	for _, c := range []struct{ name, from string }{{"client", "client"}, {"claim", "claim, claim: game.skill"},
		{"backend", "backend"}} {
		b.Run(c.name, func(b *testing.B) {
			e := benchEngine(b, login, "name: ranked\nattributes: {skill: {type: number, from: "+c.from+
				"}}\nteams: [{name: all, players: 2}]\nrules: [{near: skill, within: 100}]\n")
			tokens := benchTokens(login, warmUpTickets+b.N)
			var n atomic.Int64
			create := func() {
				r := httptest.NewRequest(http.MethodPost, "/tickets", strings.NewReader(`{"profiles":["ranked"],"attributes":{"skill":1500},"latencies":{"eu":20}}`))
				r.Header.Set("Authorization", "Bearer "+tokens[n.Add(1)-1])
				w := httptest.NewRecorder()
				e.ServeHTTP(w, r)
				if w.Code != http.StatusCreated {
					b.Errorf("%d: %s", w.Code, w.Body)
				}
			}
			for range warmUpTickets { // the caches of plans and profiles
				create()
			}
			b.SetParallelism(64)
			b.ReportAllocs()
			b.ResetTimer()
			before := cputime.ProcessTime(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					create()
				}
			})
			b.ReportMetric(float64((cputime.ProcessTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/ticket")
		})
	}
}

const warmUpTickets = 500

// benchTokens signs the access tokens of as many players, each of whom is verified once.
func benchTokens(login keytest.Login, n int) []string {
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = login.Token(map[string]any{"sub": fmt.Sprintf("p%07d", i+1), "iss": "https://login.example",
			"aud":  "game",
			"game": map[string]any{"level": 7, "skill": 1500}})
	}
	return tokens
}

// benchEngine serves tickets of a profile from a database of its own, in which each player has a stored skill.
func benchEngine(b *testing.B, login keytest.Login, document string) *gin.Engine {
	b.Helper()
	store := must.Get(db.Open(b.Context(), db.Config{URL: dbtest.New(b), Timing: db.DefaultTiming()}))(b)
	b.Cleanup(store.Close)
	require.NoError(b, store.ReadClock(b.Context()))
	must.Get(store.ApplyProfile(b.Context(), db.ProfileEdit{Universe: "global"}, []byte(document)))(b)
	must.Get(store.Pool().Exec(b.Context(), `INSERT INTO stored_players (region, sub, attributes, avoid, may_party_with, updated_by)
		SELECT 'global', 'p' || lpad(n::text, 7, '0'), '{"skill": 1500}', '{}', '{}', 'bench' FROM generate_series(1, 200000) n`))(b)
	e := must.Get(rest.New(rest.Options{}))(b)
	verifier := must.Get(token.NewAccessVerifier(token.AccessConfig{Keys: login.Source}))(b)
	e.Use(rest.RequireBearer(func(ctx context.Context, raw string) (string, error) {
		claims, err := verifier.Verify(ctx, raw)
		return claims.Subject, err
	}, nil))
	play.MountTickets(e, e, play.Tickets{Store: benchStore{store}, Hub: watch.New(nil, "global", 1, nil, nil),
		Region:   "global",
		Profiles: play.NewLiveProfiles(store, "global"), Lease: time.Minute, CallTimeout: time.Minute})
	return e
}

// benchStore is a store of which no ready check is asked.
type benchStore struct{ *db.Store }

// AnswerReadyCheck implements play.TicketStore.
func (s benchStore) AnswerReadyCheck(ctx context.Context, region string, a db.ReadyCheckAnswer) error {
	_, err := s.Store.AnswerReadyCheck(ctx, region, a)
	return err
}
