package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A key-encryption key that something needs must not look as if it could be retired.
func TestOpsKeyEncryptionKeysCountsWhatNeedsThem(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.key("expired", "-9 days", "-8 days")
	d.key("tainted", "-1 minute", "1 day")
	d.Exec(`UPDATE signing_keys SET tainted_at = now() WHERE kid = 'tainted'`)
	d.key("signing", "-1 minute", "1 day")
	d.Exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players)
		VALUES ('arena', '1', 'process', 'arena', '[]', 'game', '{duel}', 8, 2)`)
	d.Exec(`INSERT INTO deployments (region, id, app, version, provider, tag, netcode_key, sealed_by, tokens_by) VALUES
		('eu', gen_random_uuid(), 'arena', '1', 'process', 'a', 'x', 'kek-1', 'kek-0'),
		('eu', gen_random_uuid(), 'arena', '1', 'process', 'b', 'x', 'kek-2', 'kek-2'),
		('us', gen_random_uuid(), 'arena', '1', 'process', 'c', 'x', 'kek-2', NULL),
		('us', gen_random_uuid(), 'arena', '1', 'process', 'd', NULL::bytea, NULL::text, NULL)`)
	require.Equal(t, []string{"kek-0|0|0|1", "kek-1|1|1|0", "kek-2|0|2|2"},
		d.Rows(`SELECT fingerprint, signing_keys, netcode_keys, credentials FROM ops.key_encryption_keys ORDER BY fingerprint`))
}
