package longtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
)

func TestPick(t *testing.T) {
	t.Setenv("DIRECTOR_TEST_LONG", "")
	require.False(t, longtest.Enabled())
	require.Equal(t, 1, longtest.Pick(1, 100))
	t.Setenv("DIRECTOR_TEST_LONG", "1")
	require.True(t, longtest.Enabled())
	require.Equal(t, 100, longtest.Pick(1, 100))
}
