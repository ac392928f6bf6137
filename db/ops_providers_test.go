package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a pool that looks healthy although no worker has its provider.
func TestOpsProvidersCountWorkersAndWhatWaitsForThem(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	providers := func() []string {
		return storetest.Values[string](b.DB, "SELECT provider || '|' || workers || '|' || pools || '|' || deployments || '|' || overdue FROM ops.providers ORDER BY provider")
	}
	b.Exec("UPDATE pools SET min_servers = 2")
	b.scale()
	require.Equal(t, []string{"process|0|1|2|0"}, providers())
	b.Exec("UPDATE deployments SET next_at = now() - interval '31 seconds'")
	require.Equal(t, []string{"process|0|1|2|2"}, providers())

	replica := b.Replica(func(c *db.Config) { c.Name, c.KeyEncryptionKeys = "director serve a/1", []string{"new", "old"} })
	require.NoError(t, replica.ReportProcess(t.Context(), nil))
	require.Equal(t, []string{"process|0|1|2|2"}, providers(), "it has no worker")
	worker := b.Replica(func(c *db.Config) { c.Name, c.Providers = "director work a/2", []string{"docker", "process"} })
	require.NoError(t, worker.ReportProcess(t.Context(), nil))
	require.Equal(t, []string{"docker|1|0|0|0", "process|1|1|2|2"}, providers())
	b.Exec("UPDATE deployments SET lease = gen_random_uuid(), leased_until = now()")
	require.Equal(t, []string{"docker|1|0|0|0", "process|1|1|2|0"}, providers())
	require.Equal(t, []string{"director serve a/1|{}|{new,old}", "director work a/2|{docker,process}|{}"},
		storetest.Values[string](b.DB, "SELECT process || '|' || providers::text || '|' || key_encryption_keys::text FROM ops.process_reports ORDER BY process"))
	b.Exec("UPDATE process_reports SET reported_at = now() - interval '61 seconds'")
	require.Equal(t, []string{"docker|0|0|0|0", "process|0|1|2|0"}, providers())
}
