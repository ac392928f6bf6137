package peers

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// chart is the file that has the version of the last release.
const chart = "../../ops/helm/lattice-director/Chart.yaml"

// versions are the other files that have the version, each with the pattern before it.
var versions = map[string]string{
	"../../sdk/ts/package.json":                         `"version": "`,
	"../../sdk/csharp/package.json":                     `"version": "`,
	"../../sdk/csharp/LatticeDirector.csproj":           `<Version>`,
	"../../sdk/godot/addons/lattice_director/client.gd": `VERSION = "`,
	"../../sdk/cpp/include/lattice/version.hpp":         `version = "`,
	"../../sdk/rust/Cargo.toml":                         `(?m)^version = "`,
	"../../sdk/rust/bevy/Cargo.toml":                    `(?m)^version = "`,
}

// Pins a package that is released with another version than the director.
func TestPackagesHaveTheVersionOfTheDirector(t *testing.T) {
	t.Parallel()
	want := versionIn(t, chart, `(?m)^appVersion: "?`)
	for file, before := range versions {
		require.Equal(t, want, versionIn(t, file, before), file)
	}
}

// versionIn returns the version that follows a pattern in a file.
func versionIn(t *testing.T, file, before string) string {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	found := regexp.MustCompile(before + `v?([0-9]+\.[0-9]+\.[0-9]+)`).FindSubmatch(text)
	require.NotNil(t, found, file)
	return string(found[1])
}
