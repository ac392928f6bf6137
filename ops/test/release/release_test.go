// Package release_test checks that what .goreleaser.yaml packs exists, and that a release is built as `make build` and
// the Dockerfile build. It does not know goreleaser's schema: building goreleaser takes minutes, and `make release`
// reads the configuration strictly.
package release_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// file returns the text of a file of the repository.
func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}

// configuration is the part of .goreleaser.yaml that names things of this repository.
type configuration struct {
	Builds []struct {
		Dir, Main, Binary string
		Env, Flags        []string
		Tags              []string
		Ldflags           []string
	}
	Archives []struct{ Files []any }
	Nfpms    []struct {
		Contents []struct{ Src, Dst string }
	}
	DockersV2 []struct{ Dockerfile string } `json:"dockers_v2"`
}

func read(t *testing.T) configuration {
	t.Helper()
	var conf configuration
	require.NoError(t, yaml.Unmarshal([]byte(file(t, ".goreleaser.yaml")), &conf))
	return conf
}

// Pins a file that was renamed: goreleaser would fail at the next release, long after the change.
func TestEverythingThatIsPackedExists(t *testing.T) {
	t.Parallel()
	conf := read(t)
	var packed []string
	for _, archive := range conf.Archives {
		for _, f := range archive.Files {
			if named, ok := f.(map[string]any); ok {
				f = named["src"]
			}
			packed = append(packed, f.(string))
		}
	}
	for _, pkg := range conf.Nfpms {
		for _, content := range pkg.Contents {
			packed = append(packed, content.Src)
		}
	}
	for _, image := range conf.DockersV2 {
		packed = append(packed, image.Dockerfile)
	}
	require.Greater(t, len(packed), 20)
	for _, pattern := range packed {
		if strings.HasPrefix(pattern, ".bin/completions/") {
			continue // ops/release/completions.sh writes them
		}
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
	}
}

// Pins a flag that was added to the Makefile alone: what is released would not be what was tested.
func TestReleasesAreBuiltLikeTheOthers(t *testing.T) {
	t.Parallel()
	tags := match(t, file(t, "Makefile"), `(?m)^TAGS +:= (\S+)$`)
	ldflags := match(t, file(t, "Makefile"), `(?m)^LDFLAGS +:= (.+)\$\(VERSION\)$`)
	for _, build := range read(t).Builds {
		require.Equal(t, []string{"CGO_ENABLED=0"}, build.Env, build.Binary)
		require.Equal(t, []string{"-trimpath"}, build.Flags, build.Binary)
		require.Equal(t, []string{tags}, build.Tags, build.Binary)
		require.Equal(t, []string{ldflags + "v{{ .Version }}"}, build.Ldflags, build.Binary)
		require.DirExists(t, filepath.Join(root, build.Dir, build.Main))
	}
	require.Equal(t, tags, match(t, file(t, "Dockerfile"), `-tags (\S+) -ldflags .* -o /out/director `))
	require.Equal(t, tags, match(t, file(t, "ops/release/completions.sh"), `-tags (\S+) `))
}

func match(t *testing.T, text, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, found, pattern)
	return found[1]
}

// Pins a released image with another base, user, port or command than the image of the Dockerfile, which `make
// docker-check` runs.
func TestTheReleasedImageIsTheOneOfTheDockerfile(t *testing.T) {
	t.Parallel()
	_, last, found := strings.Cut(file(t, "Dockerfile"), " AS arena\n")
	require.True(t, found)
	_, last, found = strings.Cut(last, "\nFROM ")
	require.True(t, found)
	require.Equal(t, instructions("FROM "+strings.Replace(last, " AS director\n", "\n", 1)), instructions(file(t, "ops/release/Dockerfile")))
}

// instructions returns a Dockerfile's instructions, without those that say where the binary comes from.
func instructions(dockerfile string) []string {
	var lines []string
	for line := range strings.Lines(dockerfile) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "COPY ") && !strings.HasPrefix(line, "ARG TARGETPLATFORM") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
