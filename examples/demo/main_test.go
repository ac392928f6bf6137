package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// asProgram makes the test's binary the demo itself, for tests that kill it.
const asProgram = "DEMO_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// tempDir is one that Postgres, too, may enter: t.TempDir is closed to it where it runs as another user, as under root.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "demo-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	return dir
}
