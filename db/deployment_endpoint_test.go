package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Pins an address of a provider that nobody can dial: players were sent there.
func TestAddressesOfProvidersThatNobodyCanDial(t *testing.T) {
	t.Parallel()
	for _, ip := range []string{"0.0.0.0", "::", "224.0.0.1", "255.255.255.255"} {
		b := setup(t)
		id := b.deploy("starting", providerReady, "ip = '"+ip+"'")
		_, err := b.joinAs(id, "boot-1")
		require.NoError(t, err)
		require.Equal(t, "failed", b.phaseOf(id), ip)
		require.Equal(t, "the provider has reported the address "+ip+", which nobody can dial", one[string](b, "SELECT last_error FROM deployments WHERE id = $1", id))
	}
}

// Pins servers with netcode whose address no connect token can hold: their players got 503 for ever.
func TestNetcodeNeedsAnAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	withNetcode := func(provider string) []string {
		return []string{"provider = '" + provider + "'", "provider_ready_at = now()", "ip = NULL"}
	}
	id := b.deploy("starting", withNetcode("manual")...)
	b.Exec("UPDATE app_versions SET provider = 'manual', dialect = 'netcode102', protocol_id = '1'")
	at := func(endpoint string) func(*db.Registration) {
		return func(r *db.Registration) { r.Endpoint = endpoint }
	}
	for _, endpoint := range []string{"game.example:7777", "wss://203.0.113.7:7777/play"} {
		_, err := b.joinAs(id, "boot-1", at(endpoint))
		requireKind(t, fault.Invalid, "invalid_request", err)
		require.ErrorContains(t, err, "must be an IP address and a port")
	}
	require.Equal(t, "starting", b.phaseOf(id))
	require.Equal(t, "203.0.113.7:7777", b.requireJoined(id, "boot-1", at("203.0.113.7:7777")).Deployed.Endpoint)

	id = b.deploy("starting", withNetcode("edgegap")...)
	_, err := b.joinAs(id, "boot-1", at("game.example:7777")) // the provider may still say an address
	require.NoError(t, err)
	require.Equal(t, "failed", b.phaseOf(id))
	require.Contains(t, one[string](b, "SELECT last_error FROM deployments WHERE id = $1", id), "netcode connect tokens cannot hold")
}
