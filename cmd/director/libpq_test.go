package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins a setting of pgx that makes Postgres refuse the connection string, and a password in an error.
func TestURLsForPostgres(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"postgres://ada:secret@db/director?pool_max_conns=4&sslmode=verify-full": "postgres://ada:secret@db/director?sslmode=verify-full",
		"postgres:///director?host=/var/run/post%20gres":                         "postgres:///director?host=%2Fvar%2Frun%2Fpost%20gres",
		"postgresql://db/director":                                               "postgresql://db/director",
	} {
		got, err := libpqURL(given)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, wrong := range []string{"host=db password=secret", "http://ada:secret@db",
		"postgres://ada:secret@db:port/x"} {
		_, err := libpqURL(wrong)
		require.ErrorContains(t, err, "postgres://user@host/name")
		require.NotContains(t, err.Error(), "secret")
	}
}
