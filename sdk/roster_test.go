package sdk_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

// expect returns the states of the players in each session of the next list.
func expect(t *testing.T, lists <-chan []sdk.SessionRoster) (states []map[string]sdk.SeatState) {
	t.Helper()
	select {
	case list, open := <-lists:
		require.True(t, open)
		for _, s := range list {
			players := map[string]sdk.SeatState{}
			for _, p := range s.Players {
				players[p.Sub] = p.State
			}
			states = append(states, players)
		}
		return states
	case <-time.After(time.Hour):
		require.Fail(t, "no list")
		return nil
	}
}

// The channel has the current sessions first, then each change, also through an outage and a lost lease.
func TestSessionsOfAServer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		lists := s.Sessions(ctx)
		require.Empty(t, expect(t, lists))
		ann := w.token("ann")
		require.Equal(t, []map[string]sdk.SeatState{{"ann": sdk.SeatReserved}}, expect(t, lists))
		_, err := s.Admit(t.Context(), ann.SessionToken)
		require.NoError(t, err)
		require.Equal(t, []map[string]sdk.SeatState{{"ann": sdk.SeatConnected}}, expect(t, lists))

		advance(10 * time.Minute)
		require.InDelta(t, 10*60/25, len(w.to("/fleet/sessions")), 5, "an idle server only waits")
		w.inject(func(exchange, func() *http.Response) (*http.Response, error) { return nil, errCut })
		advance(time.Minute)
		w.inject(nil)
		w.token("bo")
		require.Equal(t, []map[string]sdk.SeatState{{"ann": sdk.SeatConnected, "bo": sdk.SeatReserved}}, expect(t, lists))
		w.director.Expire("arena-1")
		require.Empty(t, expect(t, lists), "registered again, and its sessions have ended")

		cancel()
		synctest.Wait()
		_, open := <-lists
		require.False(t, open)
	})
}

// A replica that answers at once, as one that stops does, must not be called in a tight loop.
func TestEarlyAnswersAreNoReasonToHurry(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		lists := s.Sessions(t.Context())
		require.Empty(t, expect(t, lists))
		w.inject(func(x exchange, _ func() *http.Response) (*http.Response, error) {
			if x.path == "/fleet/sessions" {
				return respond(http.StatusOK, "application/json",
					`{"instance_id": "arena-1", "cursor": "x", "sessions": []}`)
			}
			return nil, errNoFault
		})
		require.Empty(t, expect(t, lists))
		before := w.count("/fleet/sessions")
		advance(time.Minute)
		require.Less(t, w.count("/fleet/sessions")-before, 60)
		require.NoError(t, s.Close(t.Context()))
		_, open := <-lists
		require.False(t, open, "the server has ended")
	})
}
