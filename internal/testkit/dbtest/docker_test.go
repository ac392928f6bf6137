package dbtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
)

func TestWithoutADaemonTheErrorSaysSo(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///no/such/docker.sock")
	_, err := dbtest.StartContainer(t.Context())
	require.ErrorContains(t, err, "start Postgres in Docker")
	require.ErrorContains(t, err, "no/such/docker.sock")
}
