package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBevygapSettings(t *testing.T) {
	t.Parallel()
	of := func(settings ...string) (*loaded, error) {
		environ := newEnvironment(serving("postgres://u@127.0.0.1:1/d", login(t).JWKS(), settings...))
		return loadSettings((&program{environ: environ}).serveCommand().Flags(), environ, byServe)
	}
	off, err := of()
	require.NoError(t, err)
	require.Nil(t, off.config.bevygapOptions())

	guests, err := of("DIRECTOR_BEVYGAP=guests", "DIRECTOR_BEVYGAP_WAIT=90s", "DIRECTOR_BEVYGAP_DEFAULT=my game/1.0",
		"DIRECTOR_BEVYGAP_CLIENT_IP=trust")
	require.NoError(t, err)
	o := guests.config.bevygapOptions()
	require.True(t, o.AllowsGuests && o.TrustClientIP)
	require.Equal(t, 90*time.Second, o.WaitLimit)
	require.Equal(t, []any{10_000, 8, "my game", "1.0"},
		[]any{o.MaxWaiting, o.PerAddress, o.DefaultGame, o.DefaultVersion})

	tokens, err := of("DIRECTOR_BEVYGAP=tokens")
	require.NoError(t, err)
	require.False(t, tokens.config.bevygapOptions().AllowsGuests)
	require.NoError(t, tokens.config.checkBevygap())
	tokens.config.JWKS = ""
	require.ErrorContains(t, tokens.config.checkBevygap(), "DIRECTOR_AUTH_JWKS")

	_, err = of("DIRECTOR_BEVYGAP_DEFAULT=my-game")
	require.ErrorContains(t, err, "GAME/VERSION")
}
