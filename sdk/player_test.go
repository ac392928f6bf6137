package sdk_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

// The answer to a matchmake can be lost after the seat was taken. The retry must return that seat and take no other.
func TestLostAnswersKeepOneSeat(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.serve()
		lostTwice := 0
		w.inject(on("/matchmake", func(x exchange, forward func() *http.Response) (*http.Response, error) {
			if lostTwice++; lostTwice > 2 {
				return nil, errNoFault
			}
			return lost(x, forward)
		}))
		match, err := w.player("alice").Matchmake(t.Context(), duel)
		require.NoError(t, err)
		require.Equal(t, 1, match.PlayerCount)
		sent := w.to("/matchmake")
		require.Len(t, sent, 3)
		key := sent[0].header.Get("Idempotency-Key")
		require.NotEmpty(t, key)
		for _, x := range sent {
			require.Equal(t, key, x.header.Get("Idempotency-Key"))
			require.Equal(t, sent[0].body, x.body)
			require.Equal(t, "Bearer alice", x.header.Get("Authorization"))
		}
		_, err = w.player("alice").Matchmake(t.Context(), duel)
		require.NoError(t, err)
		require.NotEqual(t, key, w.to("/matchmake")[3].header.Get("Idempotency-Key"), "another request has another key")
	})
}

// Each member of a party resolves the handle that one of them got.
func TestPartySitsTogether(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.serve()
		req := sdk.MatchRequest{Region: "eu", Mode: "duel", Party: []string{"alice", "bob"}, MaxPlayers: 4}
		match, err := w.player("alice").Matchmake(t.Context(), req)
		require.NoError(t, err)
		for _, sub := range req.Party {
			ticket, err := w.player(sub).Resolve(t.Context(), match.Handle)
			require.NoError(t, err)
			require.Equal(t, match.SessionID, ticket.SessionID)
			require.Equal(t, endpoint, ticket.Endpoint)
		}
		_, err = w.player("mallory").Resolve(t.Context(), match.Handle)
		require.ErrorIs(t, err, sdk.ErrForbidden)
		seen, err := w.player("mallory").Session(t.Context(), match.SessionID)
		require.NoError(t, err)
		require.Equal(t, match, seen)
	})
}

// A session can end between the two calls when its server dies. Seat then starts again instead of failing.
func TestSeatStartsAnewWhenTheSessionClosed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.serve()
		w.inject(on("/resolve", once(func(exchange, func() *http.Response) (*http.Response, error) {
			w.director.CloseSession(w.director.Sessions()[0].ID)
			return nil, errNoFault
		})))
		seat, err := w.player("alice").Seat(t.Context(), duel)
		require.NoError(t, err)
		require.Equal(t, w.director.Sessions()[1].ID, seat.SessionID)
		require.NotEmpty(t, seat.SessionToken)
		require.Equal(t, 2, w.count("/matchmake"))
	})
}

// A seat that expired during an outage is taken again.
func TestSeatStartsAnewWhenTheSeatIsGone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.serve()
		w.inject(on("/resolve", once(func(exchange, func() *http.Response) (*http.Response, error) {
			w.director.Reap(w.director.Sessions()[0].ID, "alice")
			return nil, errNoFault
		})))
		_, err := w.player("alice").Seat(t.Context(), duel)
		require.NoError(t, err)
	})
}

// With AwaitServers, Seat retries until the first server starts.
func TestSeatWaitsForCapacity(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		up := time.AfterFunc(20*time.Second, func() { w.serve() })
		defer up.Stop()
		start := time.Now()
		awaiting := duel
		awaiting.AwaitServers = true
		_, err := w.player("alice").Seat(t.Context(), awaiting)
		require.NoError(t, err)
		require.Less(t, time.Since(start), 25*time.Second)
		require.Less(t, w.count("/matchmake"), 30)
	})
}

func TestSeatReturnsTheLastReason(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w.serve()
		_, err := w.player("alice").Seat(ctx, sdk.MatchRequest{Region: "eu", Mode: "duel", MaxPlayers: 1024})
		require.ErrorIs(t, err, sdk.ErrNoCapacity)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		_, err = w.player("alice").Seat(t.Context(), sdk.MatchRequest{Region: "eu", Mode: "duel", Party: []string{"bob"}})
		require.ErrorIs(t, err, sdk.ErrInvalid)
	})
}

// Seat used to retry a misspelt name until the context ended.
func TestSeatFailsAtOnceWhenNotOffered(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.serve()
		for code, req := range map[string]sdk.MatchRequest{
			"mode_unknown":   {Region: "eu", Mode: "dule"},
			"region_unknown": {Region: "ue", Mode: "duel"},
		} {
			_, err := w.player("alice").Seat(t.Context(), req)
			require.ErrorIs(t, err, sdk.ErrNotOffered)
			require.NotErrorIs(t, err, sdk.ErrNoCapacity)
			require.ErrorContains(t, err, code)
		}
		require.Equal(t, 2, w.count("/matchmake"))
	})
}

// Without an access token no request is sent.
func TestAccessTokenError(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		loggedOut := errors.New("logged out")
		p := sdk.NewPlayer(w.client(), func(context.Context) (string, error) { return "", loggedOut })
		_, err := p.Matchmake(t.Context(), duel)
		require.ErrorIs(t, err, loggedOut)
		require.Zero(t, w.count(""))
	})
}

// A director that starts servers says when to ask again; players who ask earlier only cost calls.
func TestSeatWaitsAsLongAsTheDirectorSays(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.serve()
		w.inject(once(answer(409, "no_capacity", "Retry-After", "10")))
		start := time.Now()
		_, err := w.player("alice").Seat(t.Context(), duel)
		require.NoError(t, err)
		require.Greater(t, time.Since(start), 10*time.Second)
		require.Less(t, time.Since(start), 12*time.Second)
	})
}
