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

// A player who begins to wait is planned for at once, not at the next tick, and the server's key opens for its
// deployment alone.
func TestAPlayerWakesTheScaler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddPool(map[string]any{"provider": "manual", "dialect": "netcode102", "protocol_id": "80085"})
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
