package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/sdk"
)

// Many joins at once must not become a report for each player, and a slow director must not mix up their results.
func TestReportsAreBatched(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve(func(o *sdk.ServerOptions) { o.Capacity = 64 })
		seats, admissions := make([]sdk.Seat, 64), make([]*sdk.Admission, 64)
		for i := range seats {
			var err error
			seats[i], err = w.player(fmt.Sprintf("player-%02d", i)).Seat(t.Context(), sdk.MatchRequest{Region: "eu",
				Mode: "duel", MaxPlayers: 64})
			require.NoError(t, err)
		}
		w.inject(on("/fleet/seats", func(exchange, func() *http.Response) (*http.Response, error) {
			advance(time.Second)
			return nil, errNoFault
		}))
		var joining errgroup.Group
		for i, seat := range seats {
			joining.Go(func() (err error) { admissions[i], err = s.Admit(t.Context(), seat.SessionToken); return err })
		}
		require.NoError(t, joining.Wait())
		require.LessOrEqual(t, w.count("/fleet/seats"), 2, "the first may be alone, all others are together")
		for i, a := range admissions {
			require.Equal(t, fmt.Sprintf("player-%02d", i), a.Sub)
			require.True(t, w.connected(a.Sub))
			a.Leave()
		}
		advance(10 * time.Second)
		require.LessOrEqual(t, len(w.to("/fleet/seats")), 4)
		require.True(t, w.director.Sessions()[0].Closed)
	})
}

// Each admission has its own connection name, the same in its join and its leave. By this name the director
// distinguishes a retry from a replay, and the leave of a replaced connection from the leave of the one that holds the
// seat.
func TestConnectionsAreNamed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		w.inject(on("/fleet/seats", once(lost)))
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		bob, err := s.Admit(t.Context(), w.token("bob").SessionToken)
		require.NoError(t, err)
		alice.Leave()
		<-alice.Done()
		bob.Leave()
		<-bob.Done()
		sent := w.to("/fleet/seats")
		require.Len(t, sent, 5)
		name := func(join exchange) any { return field(t, join, "joined").([]any)[0].(map[string]any)["connection"] }
		require.Equal(t, name(sent[0]), name(sent[1]), "a retry has the same name")
		require.NotEqual(t, name(sent[1]), name(sent[2]))
		require.Equal(t, []any{name(sent[1])}, field(t, sent[3], "left_connections"))
		require.Equal(t, []any{name(sent[2])}, field(t, sent[4], "left_connections"))
		require.True(t, w.director.Sessions()[0].Closed)
	})
}

// Reports are retried until the director acknowledges them: after lost answers, outages, and refusals that operators
// can fix.
func TestLeaveIsRepeatedUntilAcknowledged(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		faults := []fault{lost, cut, answer(503, "unavailable"), answer(401, "unauthorized"), answer(500, "internal")}
		w.inject(on("/fleet/seats", func(x exchange, forward func() *http.Response) (*http.Response, error) {
			if len(faults) == 0 {
				return nil, errNoFault
			}
			next := faults[0]
			faults = faults[1:]
			return next(x, forward)
		}))
		alice.Leave()
		<-alice.Done()
		require.False(t, w.connected("alice"))
		require.Len(t, w.to("/fleet/seats"), 1+6)
	})
}

// The director applied the join, but its answer came too late for the player: the seat must be freed again.
func TestAbandonedJoinFreesTheSeat(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		raw := w.token("alice").SessionToken
		w.inject(on("/fleet/seats", lost))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := s.Admit(ctx, raw)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, w.connected("alice"))
		w.inject(nil)
		advance(10 * time.Second)
		require.False(t, w.connected("alice"))
	})
}

// A player leaves during an outage and joins again right after it, before the leave is reported: the leave must not
// free the seat, which the new connection holds.
func TestBackAfterAnOutage(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		w.inject(on("/fleet/seats", cut))
		alice.Leave()
		advance(30 * time.Second)
		seat := w.token("alice")
		require.Equal(t, alice.SessionID, seat.SessionID)
		w.inject(nil)
		again, err := s.Admit(t.Context(), seat.SessionToken)
		require.NoError(t, err)
		advance(30 * time.Second)
		require.True(t, w.connected("alice"))
		require.NoError(t, again.Err())
		require.ErrorIs(t, alice.Err(), sdk.ErrReplaced)
	})
}

// Close fails the Admit calls that are waiting.
func TestCloseFailsPendingJoins(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		raw := w.token("alice").SessionToken
		w.inject(frozen("director.example"))
		result := make(chan error, 1)
		go func() {
			_, err := s.Admit(t.Context(), raw)
			result <- err
		}()
		advance(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Error(t, s.Close(ctx))
		require.ErrorIs(t, <-result, sdk.ErrClosed)
	})
}

// An Admit call that ends before its report is sent costs no report, and its token stays usable.
func TestAbandonedBeforeTheReport(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, bob := w.token("alice"), w.token("bob")
		w.inject(on("/fleet/seats", func(exchange, func() *http.Response) (*http.Response, error) {
			advance(4 * time.Second)
			return nil, errNoFault
		}))
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := s.Admit(t.Context(), alice.SessionToken)
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Admit(ctx, bob.SessionToken)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		wg.Wait()
		synctest.Wait()
		require.Len(t, w.to("/fleet/seats"), 1)
		_, err = s.Admit(t.Context(), bob.SessionToken)
		require.NoError(t, err)
	})
}

// When the director no longer knows the server, a waiting join fails instead of waiting on.
func TestLeaseExpiresDuringAJoin(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice := w.token("alice")
		w.director.Expire("arena-1")
		_, err := s.Admit(t.Context(), alice.SessionToken)
		require.ErrorIs(t, err, sdk.ErrSessionLost)
		require.Len(t, w.to("/fleet/register"), 2, "the report was refused, and the server registered again")
		_, err = s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
	})
}

// When many reports find at once that the lease has expired, only one of them registers.
func TestLeaseExpiresDuringManyJoins(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		var tokens []string
		for i := range 4 {
			seat, err := w.player(fmt.Sprint("player-", i)).Seat(t.Context(), sdk.MatchRequest{Region: "eu", Mode: "duel", MaxPlayers: 1})
			require.NoError(t, err)
			tokens = append(tokens, seat.SessionToken)
		}
		w.director.Expire("arena-1")
		w.inject(on("/fleet/seats", func(_ exchange, forward func() *http.Response) (*http.Response, error) {
			resp := forward()
			advance(time.Second)
			return resp, nil
		}))
		var wg sync.WaitGroup
		for _, raw := range tokens {
			wg.Go(func() {
				if _, err := s.Admit(t.Context(), raw); !errors.Is(err, sdk.ErrSessionLost) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Len(t, w.to("/fleet/register"), 2)
	})
}

// The join was abandoned, its report is in flight, and the lease expires meanwhile: the late answer must have no
// effect.
func TestLeaseExpiresDuringAReport(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice := w.token("alice")
		w.inject(on("/fleet/seats", once(func(_ exchange, forward func() *http.Response) (*http.Response, error) {
			resp := forward()
			w.director.Expire("arena-1")
			advance(20 * time.Second)
			return resp, nil
		})))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Admit(ctx, alice.SessionToken)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		advance(30 * time.Second)
		bob, err := s.Admit(t.Context(), w.token("bob").SessionToken)
		require.NoError(t, err)
		require.NoError(t, bob.Err())
		require.Len(t, w.to("/fleet/seats"), 2)
	})
}

func TestEndClosesTheSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		s.End(alice.SessionID)
		<-alice.Done()
		require.ErrorIs(t, alice.Err(), sdk.ErrSessionLost)
		require.True(t, w.director.Sessions()[0].Closed)
	})
}

// An operator closes the session. The game server learns of it from the answer to its next report.
func TestOperatorClosesTheSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		bob, err := s.Admit(t.Context(), w.token("bob").SessionToken)
		require.NoError(t, err)
		w.director.CloseSession(alice.SessionID)
		bob.Leave()
		<-alice.Done()
		require.ErrorIs(t, alice.Err(), sdk.ErrSessionLost)
	})
}
