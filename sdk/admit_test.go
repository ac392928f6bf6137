package sdk_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
	"github.com/lattice-director/director/token"
)

func (w *wire) connected(sub string) bool {
	for _, s := range w.director.Sessions() {
		if s.Seats[sub] {
			return true
		}
	}
	return false
}

func TestAdmitConnectsTheSeat(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		seat := w.token("alice")
		alice, err := s.Admit(t.Context(), seat.SessionToken)
		require.NoError(t, err)
		require.Equal(t, "alice", alice.Sub)
		require.Equal(t, seat.SessionID, alice.SessionID)
		require.True(t, w.connected("alice"))
		alice.Leave()
		alice.Leave()
		<-alice.Done()
		require.ErrorIs(t, alice.Err(), sdk.ErrLeft)
		require.False(t, w.connected("alice"))
		require.Len(t, w.to("/fleet/seats"), 2)
	})
}

// The token gives a game server the session's mode and size, and the party of each player.
func TestAdmissionHasModeSizeAndParty(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve(func(o *sdk.ServerOptions) { o.Modes = []string{"race"} })
		admit := func(sub, handle string) *sdk.Admission {
			resolved, err := w.player(sub).Resolve(t.Context(), handle)
			require.NoError(t, err)
			a, err := s.Admit(t.Context(), resolved.SessionToken)
			require.NoError(t, err)
			require.Equal(t, "race", a.Mode)
			require.Equal(t, 3, a.MaxPlayers)
			return a
		}
		race := sdk.MatchRequest{Region: "eu", Mode: "race", MaxPlayers: 3}
		friends := race
		friends.Party = []string{"alice", "bob"}
		session, err := w.player("alice").Matchmake(t.Context(), friends)
		require.NoError(t, err)
		_, err = w.player("carol").Matchmake(t.Context(), race)
		require.NoError(t, err)
		alice, bob, carol := admit("alice", session.Handle), admit("bob", session.Handle), admit("carol", session.Handle)
		require.NotEmpty(t, alice.Party)
		require.Equal(t, alice.Party, bob.Party)
		require.NotEqual(t, alice.Party, carol.Party)
	})
}

// Tokens that an attacker can present.
func TestAdmitRefusesBadTokens(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		genuine := w.token("alice").SessionToken
		other, err := sdktest.New(sdktest.Options{})
		require.NoError(t, err)
		claims := token.SessionClaims{
			Subject: "alice", SessionID: "eu.1", Handle: "eu.h", Endpoint: endpoint, Region: "eu", ID: "jti-1",
			IssuedAt: time.Now(), Expires: time.Now().Add(time.Minute),
		}
		sign := func(d *sdktest.Director, edit func(*token.SessionClaims)) string {
			c := claims
			edit(&c)
			raw, err := d.Sign(c)
			require.NoError(t, err)
			return raw
		}
		same := func(*token.SessionClaims) {}
		head, body, _ := strings.Cut(genuine, ".")
		payload, signature, _ := strings.Cut(body, ".")
		for name, c := range map[string]struct {
			raw  string
			want error
		}{
			"nothing":       {"", sdk.ErrBadToken},
			"garbage":       {"a.b.c", sdk.ErrBadToken},
			"huge":          {strings.Repeat("a", 1<<20), sdk.ErrBadToken},
			"no signature":  {head + "." + payload + ".", sdk.ErrBadToken},
			"cut signature": {head + "." + payload + "." + signature[:40], sdk.ErrBadToken},
			"another key":   {sign(other, same), sdk.ErrBadToken},
			"expired": {sign(w.director, func(c *token.SessionClaims) {
				c.IssuedAt, c.Expires = c.IssuedAt.Add(-time.Hour), c.Expires.Add(-time.Hour)
			}), sdk.ErrBadToken},
			"another server":  {sign(w.director, func(c *token.SessionClaims) { c.Endpoint = "ws://elsewhere:1" }), sdk.ErrWrongServer},
			"no such session": {sign(w.director, same), sdk.ErrNotFound},
		} {
			_, err := s.Admit(t.Context(), c.raw)
			require.ErrorIs(t, err, c.want, name)
		}
		require.Len(t, w.to("/fleet/seats"), 1, "forgeries cost the director nothing")
		_, err = s.Admit(t.Context(), genuine)
		require.NoError(t, err)
	})
}

// A stolen token must not work a second time: neither while its owner plays, when the director could take it for a
// retry, nor afterwards.
func TestAdmitRefusesReplays(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		raw := w.token("alice").SessionToken
		alice, err := s.Admit(t.Context(), raw)
		require.NoError(t, err)
		_, err = s.Admit(t.Context(), raw)
		require.ErrorIs(t, err, sdk.ErrReplay)
		require.NoError(t, alice.Err())
		_, err = s.Admit(t.Context(), w.token("bob").SessionToken) // Keeps the session open.
		require.NoError(t, err)
		alice.Leave()
		<-alice.Done()
		_, err = s.Admit(t.Context(), raw)
		require.ErrorIs(t, err, sdk.ErrReplay)
	})
}

// After a crash the process has forgotten its spent tokens; the director's result decides.
func TestAdmitObeysTheDirector(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		for result, want := range map[string]error{
			"replay": sdk.ErrReplay, "seat_gone": sdk.ErrSeatGone, "unknown": sdk.ErrNoSeat, "something_new": sdk.ErrNoSeat,
		} {
			seat := w.token(result)
			w.inject(on("/fleet/seats", once(func(exchange, func() *http.Response) (*http.Response, error) {
				return respond(http.StatusOK, "application/json",
					`{"closed":false,"results":[{"sub":"`+result+`","result":"`+result+`"}]}`)
			})))
			_, err := s.Admit(t.Context(), seat.SessionToken)
			require.ErrorIs(t, err, want)
		}
		seat := w.token("eve")
		w.inject(on("/fleet/seats", once(func(exchange, func() *http.Response) (*http.Response, error) {
			return respond(http.StatusOK, "application/json", `{"closed":false,"results":[]}`)
		})))
		_, err := s.Admit(t.Context(), seat.SessionToken)
		require.Error(t, err, "no result is no admission")
	})
}

// One player with two connections: the newer one gets the seat, and the older one's Leave does not free it.
func TestNewerConnectionReplacesOlder(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		first, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		second, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		<-first.Done()
		require.ErrorIs(t, first.Err(), sdk.ErrReplaced)
		first.Leave()
		synctest.Wait()
		require.True(t, w.connected("alice"))
		require.NoError(t, second.Err())
		second.Leave()
		synctest.Wait()
		require.False(t, w.connected("alice"))
	})
}

// The older connection ends while the newer one is still joining: the order of the reports must not free the seat.
func TestLeaveWhileTheSamePlayerJoins(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		first, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		again := w.token("alice").SessionToken
		w.inject(on("/fleet/seats", once(func(exchange, func() *http.Response) (*http.Response, error) {
			first.Leave()
			return nil, errNoFault
		})))
		second, err := s.Admit(t.Context(), again)
		require.NoError(t, err)
		synctest.Wait()
		require.True(t, w.connected("alice"))
		require.NoError(t, second.Err())
		require.Len(t, w.to("/fleet/seats"), 2)
	})
}
