package play_test

import (
	"context"
	"encoding/base64"
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
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
)

// BenchmarkCreateTicket creates tickets of single players from 64 callers at a time: on the client's word, with a claim,
// and with an attribute that a backend has stored. Compare the three of one run.
func BenchmarkCreateTicket(b *testing.B) {
	for _, c := range []struct{ name, from string }{{"client", "client"}, {"claim", "claim, claim: game.skill"}, {"backend", "backend"}} {
		b.Run(c.name, func(b *testing.B) {
			e := benchEngine(b, "name: ranked\nattributes: {skill: {type: number, from: "+c.from+"}}\nteams: [{name: all, players: 2}]\nrules: [{near: skill, within: 100}]\n")
			payload := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://login.example","aud":"game","exp":1790000000,"game":{"level":7,"skill":1500}}`))
			var n atomic.Int64
			create := func() {
				r := httptest.NewRequest(http.MethodPost, "/tickets", strings.NewReader(`{"profiles":["ranked"],"attributes":{"skill":1500},"latencies":{"eu":20}}`))
				r.Header.Set("Authorization", fmt.Sprintf("Bearer eyJhbGciOiJFZERTQSJ9.%s.p%07d", payload, n.Add(1)))
				w := httptest.NewRecorder()
				e.ServeHTTP(w, r)
				if w.Code != http.StatusCreated {
					b.Errorf("%d: %s", w.Code, w.Body)
				}
			}
			for range 500 { // the caches of plans and profiles
				create()
			}
			b.SetParallelism(64)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					create()
				}
			})
		})
	}
}

// benchEngine serves tickets of a profile from a database of its own, in which each player has a stored skill. A player's
// name is the signature of its token.
func benchEngine(b *testing.B, document string) *gin.Engine {
	b.Helper()
	store, err := db.Open(b.Context(), db.Config{URL: dbtest.New(b), Timing: db.DefaultTiming()})
	require.NoError(b, err)
	b.Cleanup(store.Close)
	require.NoError(b, store.ReadClock(b.Context()))
	_, err = store.ApplyProfile(b.Context(), db.ProfileEdit{Region: "global"}, []byte(document), false)
	require.NoError(b, err)
	_, err = store.Pool().Exec(b.Context(), `INSERT INTO stored_players (region, sub, attributes, avoid, may_party_with, updated_by)
		SELECT 'global', 'p' || lpad(n::text, 7, '0'), '{"skill": 1500}', '{}', '{}', 'bench' FROM generate_series(1, 200000) n`)
	require.NoError(b, err)
	e, err := rest.New(rest.Options{})
	require.NoError(b, err)
	e.Use(rest.Bearer(func(_ context.Context, raw string) (string, error) { return raw[len(raw)-8:], nil }, nil))
	play.MountTickets(e, e, play.Tickets{Store: benchStore{store}, Hub: watch.New(nil, "global", 1, nil, nil), Region: "global",
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
