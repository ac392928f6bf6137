package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// The list is current: each guard stands in its file, once, and its tests exist. `make guards` shows that they notice.
func TestGuardsStandInTheirFiles(t *testing.T) {
	t.Parallel()
	guards, err := readGuards("guards.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, guards)
	names := map[string]bool{}
	for _, g := range guards {
		require.False(t, names[g.Name], "%s: named twice", g.Name)
		names[g.Name] = true
		without, err := g.withoutGuard(root)
		require.NoError(t, err, g.Name)
		require.NotEmpty(t, without)
		missing, err := g.missingTest(root)
		require.NoError(t, err, g.Name)
		require.Empty(t, missing, "%s: %s has no such test", g.Name, g.Package)
	}
}

// A guard without which nothing fails is not taken for noticed, nor is code that does not build without it.
func TestUnnoticedGuards(t *testing.T) {
	t.Parallel()
	own := Guard{
		Name: "a comment", File: "test/guards/guard.go", Remove: "// from the root of the repository", Package: "./test/guards",
		Tests: []string{"TestGuardsStandInTheirFiles"},
	}
	failed, err := own.runWithout(t.Context(), root)
	require.NoError(t, err)
	require.Empty(t, failed)

	own.Remove = "package main"
	_, err = own.runWithout(t.Context(), root)
	require.ErrorContains(t, err, "no test ran without the guard")

	own.Remove, own.With = "n != 1", "n >= 0"
	failed, err = own.runWithout(t.Context(), root)
	require.NoError(t, err)
	require.Equal(t, own.Tests, failed)

	own.Tests = []string{"TestThatIsNotThere"}
	missing, err := own.missingTest(root)
	require.NoError(t, err)
	require.Equal(t, "TestThatIsNotThere", missing)
}
