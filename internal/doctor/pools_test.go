package doctor

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a doctor that says of a pool without servers that the servers of another one, with the same provider, wait.
func TestDoctorCountsOverdueServersByPool(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	s.AddPool(map[string]any{"provider": "edgegap"})
	for range 5 {
		s.AddDeployment(uuid.New(), map[string]any{"provider": "edgegap"})
	}
	s.AddDeployment(uuid.New(), map[string]any{"provider": "docker"})
	s.Exec("UPDATE deployments SET next_at = now() - interval '1 minute'")
	// A worker is starting one, and another one is due just now.
	s.Exec(`UPDATE deployments SET lease = gen_random_uuid(), leased_until = now() + interval '1 minute'
		WHERE id = (SELECT max(id::text)::uuid FROM deployments WHERE provider = 'edgegap')`)
	s.Exec(`UPDATE deployments SET next_at = now()
		WHERE id = (SELECT min(id::text)::uuid FROM deployments WHERE provider = 'edgegap')`)
	s.Exec("INSERT INTO pools (region, app, version, max_servers, planned_at) VALUES ('us', 'arena', '1', 0, now())")
	s.Exec("INSERT INTO pool_modes (region, mode, app, version) VALUES ('us', 'duel', 'arena', '1')")
	f, err := Doctor{Store: s.Store}.checkPools(t.Context())
	require.NoError(t, err)
	require.Equal(t, Fail, f.State)
	require.Equal(t, "no running worker has the provider of eu/arena/1 (edgegap, 3 servers wait for a worker)", f.Says)
}
