package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// releaseConfig has the fields of .goreleaser.yaml that the tests check.
type releaseConfig struct {
	Builds []struct {
		ID, Main string
		Env      []string
		Flags    []string
		Tags     []string
		Ldflags  []string
	}
	Archives []struct{ Files []any }
	Nfpms    []struct {
		Contents []struct{ Src, Dst string }
	}
	Dockers []struct {
		Dockerfile string
		Flags      []string
	} `yaml:"dockers_v2"`
	Signs       []releaseSign
	DockerSigns []releaseSign `yaml:"docker_signs"`
}

type releaseSign struct {
	Cmd, Artifacts, Signature string
	Args                      []string
}

func readRelease(t *testing.T) (c releaseConfig) {
	t.Helper()
	text := strings.NewReader(readRoot(t, ".goreleaser.yaml"))
	// what replaces a key of an anchor is one
	require.NoError(t, yaml.NewDecoder(text, yaml.AllowDuplicateMapKey()).Decode(&c))
	require.Len(t, c.Builds, 2)
	require.NotEqual(t, c.Builds[0].Main, c.Builds[1].Main)
	return c
}

func readRoot(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("../..", name)))(t)
	return string(text)
}

// Pins a release that fails, or lacks a file, because a file was renamed.
func TestFilesOfAReleaseExist(t *testing.T) {
	t.Parallel()
	c := readRelease(t)
	var sources []string
	for _, a := range c.Archives {
		for _, f := range a.Files {
			entry, ok := f.(map[string]any)
			if !ok {
				entry = map[string]any{"src": f}
			}
			sources = append(sources, fmt.Sprint(entry["src"]))
		}
	}
	for _, content := range c.Nfpms[0].Contents {
		sources = append(sources, content.Src)
	}
	for _, d := range c.Dockers {
		sources = append(sources, d.Dockerfile)
	}
	for _, source := range sources {
		if !strings.HasPrefix(source, ".bin/completions/") { // ops/release/completions.sh makes them
			found, err := filepath.Glob(filepath.Join("../..", source))
			require.NoError(t, err)
			require.NotEmpty(t, found, source)
		}
	}
	for _, unit := range []string{"director.service", "director-worker.service", "director-sidecar@.service", "director.env"} {
		require.Contains(t, sources, "ops/systemd/"+unit)
	}
}

// Pins a released binary that is built otherwise than the tested one.
func TestAReleaseIsBuiltAsMakeBuildDoes(t *testing.T) {
	t.Parallel()
	makefile := readRoot(t, "Makefile")
	tags := regexp.MustCompile(`(?m)^TAGS\s+= (.+)$|^TAGS\s+:= (.+)$`).FindStringSubmatch(makefile)
	require.NotNil(t, tags)
	for _, b := range readRelease(t).Builds {
		require.Equal(t, []string{tags[1] + tags[2]}, b.Tags, b.ID)
		require.Equal(t, []string{"CGO_ENABLED=0"}, b.Env, b.ID)
		require.Equal(t, []string{"-trimpath"}, b.Flags, b.ID)
		require.Equal(t, []string{"-s -w -X main.version=v{{ .Version }}"}, b.Ldflags, b.ID)
		require.Contains(t, makefile, b.Main)
	}
	require.Contains(t, makefile, "LDFLAGS      := -s -w -X main.version=$(VERSION)")
}

// Pins an image of a release that behaves otherwise than the one of `make docker`.
func TestTheImageOfAReleaseIsThatOfTheDockerfile(t *testing.T) {
	t.Parallel()
	_, built, found := strings.Cut(readRoot(t, "Dockerfile"), "AS director\n")
	require.True(t, found)
	released := readRoot(t, "ops/release/Dockerfile")
	base := regexp.MustCompile(`(?m)^FROM (\S+) AS director$`).FindStringSubmatch(readRoot(t, "Dockerfile"))
	require.Contains(t, released, "FROM "+base[1]+"\n")
	for line := range strings.Lines(built) {
		if !strings.HasPrefix(line, "COPY ") && !strings.HasPrefix(line, "#") {
			require.Contains(t, released, line)
		}
	}
}

// Pins a chart that installs another release than the one it belongs to.
func TestTheHelmChartIsOfTheLatestRelease(t *testing.T) {
	t.Parallel()
	latest := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindStringSubmatch(readRoot(t, "CHANGELOG.md"))
	require.NotNil(t, latest)
	var chart struct {
		Version    string
		AppVersion string `yaml:"appVersion"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(readRoot(t, "ops/helm/lattice-director/Chart.yaml")), &chart))
	require.Equal(t, latest[1], chart.Version)
	require.Equal(t, latest[1], chart.AppVersion)
}

// Pins a release of which the checksums or the image are not signed, or whose signature is of a tag, which moves.
func TestAReleaseIsSigned(t *testing.T) {
	t.Parallel()
	c := readRelease(t)
	require.Equal(t, []releaseSign{{"cosign", "checksum", "${artifact}.sigstore.json",
		[]string{"sign-blob", "--bundle=${signature}", "--yes", "${artifact}"}}}, c.Signs)
	require.Equal(t, []releaseSign{{Cmd: "cosign", Args: []string{"sign", "--yes", "${artifact}@${digest}"}}}, c.DockerSigns)
	require.Contains(t, c.Dockers[0].Flags, "--provenance=mode=max")
	var workflow struct {
		Jobs map[string]struct {
			Permissions map[string]string
			Steps       []struct{ Run, Uses string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(readRoot(t, ".github/workflows/release.yaml")), &workflow))
	for name, job := range workflow.Jobs {
		require.Equal(t, "write", job.Permissions["id-token"], name)
	}
	require.Contains(t, readRoot(t, "docs/how-to/verify-a-release.md"), ".github/workflows/release.yaml@refs/tags/")
}

// Pins a release of which the chart, the package or the changelog has another version, or whose notes are those of
// another release.
func TestPrepareARelease(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	versioned := []string{"ops/helm/lattice-director/Chart.yaml", "sdk/ts/package.json", "sdk/ts/package-lock.json", "sdk/csharp/package.json",
		"sdk/csharp/LatticeDirector.csproj", "sdk/cpp/include/lattice/version.hpp", "sdk/rust/Cargo.toml", "sdk/rust/bevy/Cargo.toml", "sdk/godot/addons/lattice_director/client.gd"}
	files := append([]string{"CHANGELOG.md", "migrations/contract_test.go"}, versioned...)
	for _, name := range append(files, "migrations/00001_foundation.sql") {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(readRoot(t, name)), 0o600))
	}
	changelog := "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [0.1.0] - 2026-11-24\n\n- The first.\n\n[Unreleased]: x\n[0.1.0]: y\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "CHANGELOG.md"), []byte(changelog), 0o600))
	run := func(script string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "../../ops/release/"+script, args...)
		cmd.Env = append(os.Environ(), "RELEASE_ROOT="+root)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for version, why := range map[string]string{"0.1.0": "has 0.1.0 already", "0.0.9": "0.0.9 is not above 0.1.0", "1": "1 is no version"} {
		out, err := run("prepare.sh", version)
		require.Error(t, err)
		require.Contains(t, out, why)
	}
	notes, err := run("prepare.sh", "9.8.0-rc.1", "2026-12-01")
	require.NoError(t, err, notes)
	require.Equal(t, "### Added\n\n- A thing.\n", notes)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, read("CHANGELOG.md"), "## [Unreleased]\n\n## [9.8.0-rc.1] - 2026-12-01\n\n### Added\n")
	require.Contains(t, read("CHANGELOG.md"), "compare/v9.8.0-rc.1...main\n[9.8.0-rc.1]: https://")
	for _, name := range versioned {
		require.Contains(t, read(name), "9.8.0-rc.1", name)
		require.Equal(t, strings.Count(readRoot(t, name), "\n"), strings.Count(read(name), "\n"), name)
	}
	require.Contains(t, read("migrations/contract_test.go"), "the last release, 9.8.0-rc.1. The commit of a release sets it anew.\nconst released = 1\n")
	out, err := run("prepare.sh", "9.8.0")
	require.Error(t, err)
	require.Contains(t, out, "nothing below [Unreleased]", "9.8.0 is above its candidate")
	out, err = run("notes.sh", "0.1.0")
	require.NoError(t, err)
	require.Equal(t, "- The first.\n\n", out)
}

// Pins a package for players that is published as another version than the program.
func TestTheNpmPackageIsOfTheLatestRelease(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`(?m)^version: (\S+)`).FindStringSubmatch(readRoot(t, "ops/helm/lattice-director/Chart.yaml"))
	require.Contains(t, readRoot(t, "sdk/ts/package.json"), `"version": "`+version[1]+`"`)
}
