package db

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins answers that a move left out: a page that could not be written counted as copied, so that the next try of the
// same command began behind it.
func TestAnswersThatCouldNotBeWrittenAreCopiedAgain(t *testing.T) {
	t.Parallel()
	source, target := openStore(t, Config{URL: dbtest.New(t)}), openStore(t, Config{URL: dbtest.New(t)})
	exec := func(s *Store, sql string) {
		t.Helper()
		_, err := s.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	exec(source, `INSERT INTO idempotency_keys (caller, key, request_hash, answer, expires_at)
		SELECT 'ann', n::text, '\x00', '{"region": "eu"}', now() + n * interval '1 hour' FROM generate_series(1, 3) n`)
	m := NewRegionMove(source, target, "console:ada", MoveTerms{Region: "eu"}, nil)

	exec(target, "ALTER TABLE idempotency_keys RENAME TO elsewhere")
	require.Error(t, m.copyAnswers(t.Context()))
	exec(target, "ALTER TABLE elsewhere RENAME TO idempotency_keys")
	require.NoError(t, m.copyAnswers(t.Context()))

	var copied int
	require.NoError(t, target.pool.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&copied))
	require.Equal(t, 3, copied)
}
