package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
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
	Dockers []struct{ Dockerfile string } `yaml:"dockers_v2"`
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
	text, err := os.ReadFile(filepath.Join("../..", name))
	require.NoError(t, err)
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
