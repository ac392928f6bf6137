package sdk_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
)

const enrolmentToken = "le1.eu.0b8f9a3e-5f0c-4d59-9d5b-0f7d0e1c2a33.secret"

func (w *wire) enrol() *sdk.GameServer {
	w.t.Helper()
	w.director = must.Get(sdktest.New(sdktest.Options{Enrolment: enrolmentToken}))(w.t)
	return w.serve(func(o *sdk.ServerOptions) { o.FleetToken = enrolmentToken })
}

func secretsOf(sent []exchange) (secrets []string) {
	for _, x := range sent {
		secrets = append(secrets, x.header.Get("X-Fleet-Token"))
	}
	return secrets
}

// The token of the enrolment goes out once: from then on the server uses its own credential, on every route, and the one
// that replaces it as soon as the director returns that.
func TestAServerUsesTheCredentialThatItGets(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.enrol()
		advance(time.Minute)
		require.NoError(t, s.Drain(t.Context(), false))
		first := secretsOf(w.to("/fleet/heartbeat"))[0]
		require.NotEqual(t, enrolmentToken, first)
		w.director.RenewCredential("arena-1")
		advance(time.Minute)
		require.NoError(t, s.Drain(t.Context(), true))
		second := secretsOf(w.to("/fleet/drain"))[1]
		require.NotEqual(t, first, second)
		require.NoError(t, s.Close(t.Context()))
		require.Equal(t, []string{second}, secretsOf(w.to("/fleet/deregister")))
		sent := secretsOf(w.to(""))
		require.Equal(t, enrolmentToken, sent[0])
		require.NotContains(t, sent[1:], enrolmentToken)
	})
}

// A credential that could not be renewed in time costs no session: the server enrols again, as the same process.
func TestAServerWhoseCredentialHasExpiredEnrolsAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.enrol()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		w.director.ExpireCredential("arena-1")
		require.NoError(t, s.Drain(t.Context(), true))
		require.True(t, w.director.Instances()["arena-1"].Draining)
		advance(time.Minute)
		require.NoError(t, alice.Err())
		registers := secretsOf(w.to("/fleet/register"))
		require.Len(t, registers, 3)
		require.NotEqual(t, enrolmentToken, registers[1], "the refused credential")
		require.Equal(t, enrolmentToken, registers[2])
	})
}

// A credential that an operator has revoked ends the sessions, and the server comes back with another one.
func TestAServerWhoseCredentialIsRevokedEnrolsAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.enrol()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		w.director.RevokeServer("arena-1")
		advance(time.Minute)
		require.ErrorIs(t, alice.Err(), sdk.ErrSessionLost)
		require.Contains(t, w.director.Instances(), "arena-1")
		require.NoError(t, s.Err())
		require.NotContains(t, secretsOf(w.to("/fleet/heartbeat")), enrolmentToken)
	})
}
