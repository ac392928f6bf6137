package upgrade

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// newHistory makes a repository whose first commit has no release, and whose others each release one version.
func newHistory(t *testing.T, versions ...string) (r repository, commits []string) {
	t.Helper()
	r = repository(t.TempDir())
	r.must(t, "init", "--quiet")
	text := "# Changelog\n\n## [Unreleased]\n"
	commits = append(commits, r.commit(t, text))
	for _, version := range versions {
		text = "# Changelog\n\n## [Unreleased]\n\n## [" + version + "] - 2026-01-01\n" + text[len("# Changelog\n\n## [Unreleased]\n"):]
		commits = append(commits, r.commit(t, text))
	}
	return r, commits
}

func (r repository) must(t *testing.T, args ...string) string {
	t.Helper()
	return must.Get(r.git(t.Context(), args...))(t)
}

func (r repository) commit(t *testing.T, changelog string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(string(r), "CHANGELOG.md"), []byte(changelog), 0o600))
	r.must(t, "add", ".")
	r.must(t, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--allow-empty", "-m", "a change")
	return r.must(t, "rev-parse", "HEAD")
}

// A release that is taken for another one would make the whole test prove nothing.
func TestTheLastReleaseIsFound(t *testing.T) {
	t.Parallel()
	r, commits := newHistory(t, "0.1.0", "0.2.0")
	last, err := r.lastRelease(t.Context())
	require.NoError(t, err)
	require.Equal(t, release{version: "0.1.0", commit: commits[1]}, last, "HEAD releases 0.2.0: the release before it is the last one")

	text, err := os.ReadFile(filepath.Join(string(r), "CHANGELOG.md"))
	require.NoError(t, err)
	head := r.commit(t, string(text)+"\nmore\n")
	last, err = r.lastRelease(t.Context())
	require.NoError(t, err)
	require.Equal(t, release{version: "0.2.0", commit: commits[2]}, last)

	r.must(t, "tag", "v0.2.0", commits[1]) // a tag is what was released, whatever the CHANGELOG says
	last, err = r.lastRelease(t.Context())
	require.NoError(t, err)
	require.Equal(t, release{version: "0.2.0", commit: commits[1]}, last)
	require.NotEqual(t, head, last.commit)
}

// The first release has none before it: it runs beside itself.
func TestTheFirstReleaseRunsBesideItself(t *testing.T) {
	t.Parallel()
	r, commits := newHistory(t, "0.1.0")
	last, err := r.lastRelease(t.Context())
	require.NoError(t, err)
	require.Equal(t, release{version: "0.1.0", commit: commits[1], isHead: true}, last)
}

// In a shallow clone the oldest commit seems to add every heading: that is an error, unless the tag says where the
// release is.
func TestAShallowCloneIsAnError(t *testing.T) {
	t.Parallel()
	r, _ := newHistory(t, "0.1.0")
	text, err := os.ReadFile(filepath.Join(string(r), "CHANGELOG.md"))
	require.NoError(t, err)
	r.commit(t, string(text)+"\nmore\n")
	clone := repository(filepath.Join(t.TempDir(), "clone"))
	out, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--depth=1", "file://"+string(r), string(clone)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, err = clone.lastRelease(t.Context())
	require.ErrorContains(t, err, "git fetch --tags --unshallow")
}

func TestNoReleaseIsAnError(t *testing.T) {
	t.Parallel()
	r, _ := newHistory(t)
	_, err := r.lastRelease(t.Context())
	require.ErrorContains(t, err, "no released version")
	_, err = repository(t.TempDir()).lastRelease(t.Context())
	require.ErrorContains(t, err, "not a git repository")
}
