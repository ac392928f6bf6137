package worker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/manual"
	"github.com/lattice-director/director/token"
)

func (b *bundle) withPool() *bundle {
	b.t.Helper()
	b.Exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, dialect, protocol_id)
	        VALUES ('arena', '1', 'manual', 'arena', '[{"name": "game", "internal": 7777, "protocol": "udp"}]', 'game', '{duel}', 8, 8, 'netcode102', '80085')`)
	b.Exec("INSERT INTO pools (region, app, version, max_servers) VALUES ('eu', 'arena', '1', 10)")
	b.Exec("INSERT INTO pool_modes (region, mode, app, version) VALUES ('eu', 'duel', 'arena', '1')")
	return b
}

// A player who begins to wait is planned for at once, not at the next tick, and the server's key opens for its
// deployment alone.
func TestAPlayerWakesTheScaler(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	o := b.options()
	o.Providers = map[string]provider.Provider{"manual": manual.Provider{}}
	o.Provision = &ProvisionOptions{Owner: "ld-test",
		Environment: func(provision.Deployment, provision.AppVersion) (provider.Env, provider.Secret, error) {
			return provider.Env{}, "", nil
		}}
	l := loopOf(t, o, "scale")
	require.Empty(t, once(t, l))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	woken := make(chan bool)
	go func() { woken <- l.waitForNext(ctx, time.Hour) }()
	require.Eventually(t, func() bool {
		b.Exec("UPDATE demand SET expires_at = now()") // so that it is written again
		_, err := b.PutWaiting(t.Context(), db.DemandBevygap, time.Minute,
			[]db.Waiting{{Region: "eu", Mode: "duel", Player: "ann", MaxPlayers: 4}})
		require.NoError(t, err)
		select {
		case ok := <-woken:
			return ok
		default:
			return false
		}
	}, 30*time.Second, 20*time.Millisecond)
	require.Equal(t, Done{"servers_wanted": 1}, once(t, l))
	var id string
	var sealed []byte
	require.NoError(t, b.Pool().QueryRow(t.Context(), "SELECT id::text, netcode_key FROM deployments").Scan(&id,
		&sealed))
	key, err := o.Sealer.OpenSecret(token.PurposeNetcode, "eu", id, sealed)
	require.NoError(t, err)
	require.Len(t, key, 32)
	_, err = o.Sealer.OpenSecret(token.PurposeNetcode, "us", id, sealed)
	require.Error(t, err)
}

func TestWorkersWithoutProvidersDoNotScale(t *testing.T) {
	t.Parallel()
	w, err := New(setup(t).options())
	require.NoError(t, err)
	for _, l := range w.loops {
		require.NotEqual(t, "scale", l.name)
	}
}
