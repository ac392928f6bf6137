// Package docs_test checks the documentation against the repository: links, paths and excerpts of code.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/profile"
)

// root is the repository, seen from this directory.
const root = ".."

var (
	fence    = regexp.MustCompile("(?s)```.*?```")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug  = regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
	ticked   = regexp.MustCompile("`([^`\n]+)`")
	path     = regexp.MustCompile(`^(\.ci|api|bench|cmd|db|docs|examples|internal|match|migrations|ops|queries|sdk|server|sidecar|test|token|tools|worker)/[\w./*-]*$`)
	testName = regexp.MustCompile(`^Test[A-Z]\w+$`)
	excerpt  = regexp.MustCompile("(?s)<!-- from (\\S+) -->\n```\\w*\n(.*?\n)```")
)

// pages returns the text of each Markdown page by its path from root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names := must.Get(filepath.Glob(filepath.Join(root, pattern)))(t)
		for _, name := range names {
			text := must.Get(os.ReadFile(name))(t)
			relative := must.Get(filepath.Rel(root, name))(t)
			found[relative] = string(text)
		}
	}
	require.Contains(t, found, "docs/README.md")
	return found
}

// anchors returns the fragments that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	found := map[string]bool{"": true}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		found[strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")] = true
	}
	return found
}

// Pins links to files and headings that were renamed.
func TestLinks(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for page, text := range all {
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			name, fragment, _ := strings.Cut(match[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			_, err := os.Stat(filepath.Join(root, target))
			require.NoError(t, err, "%s links to %s", page, match[1])
			if linked, isPage := all[target]; isPage {
				require.Contains(t, anchors(linked), fragment, "%s links to %s", page, match[1])
			}
		}
	}
}

// Pins a symptom that the list at the head of the runbook leaves out.
func TestTheRunbookListsItsSymptoms(t *testing.T) {
	t.Parallel()
	text := pages(t)["docs/runbook.md"]
	symptoms := regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1)
	require.Greater(t, len(symptoms), 20)
	for _, symptom := range symptoms {
		require.Contains(t, text, "\n- ["+symptom[1]+"](#")
	}
}

// Pins paths and tests that a page names and that were renamed. CHANGELOG.md is about the past and is left out.
func TestPaths(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	for page, text := range pages(t) {
		if page == "CHANGELOG.md" {
			continue
		}
		for _, match := range ticked.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			switch name := match[1]; {
			case testName.MatchString(name):
				require.Contains(t, tests, name, "%s names a test", page)
			case path.MatchString(name) && !strings.Contains(name, "NNNNN"):
				found, err := filepath.Glob(filepath.Join(root, name))
				require.NoError(t, err)
				require.NotEmpty(t, found, "%s names the path %s", page, name)
			}
		}
	}
}

// testNames returns the names of all tests of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	found := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, match := range declaration.FindAllSubmatch(text, -1) {
			found[string(match[1])] = true
		}
		return err
	}))
	return found
}

// Pins code on a page that its source no longer contains: blocks that follow a comment "from FILE".
func TestExcerpts(t *testing.T) {
	t.Parallel()
	count := 0
	for page, text := range pages(t) {
		for _, match := range excerpt.FindAllStringSubmatch(text, -1) {
			count++
			source, err := os.ReadFile(filepath.Join(root, match[1]))
			require.NoError(t, err, page)
			require.Contains(t, string(source), match[2], "%s shows %s", page, match[1])
		}
	}
	require.Positive(t, count)
}

// Pins an event that docs/reference/events.md does not list, and one that it lists and that nobody writes.
func TestEventKinds(t *testing.T) {
	t.Parallel()
	kind := regexp.MustCompile("['\"`]((?:instance|session|seat|ticket|match|key|profile|app_version|pool|deployment)\\.[a-z_]+ed?)['\"`]")
	written := map[string]bool{}
	for _, pattern := range []string{"queries/*.sql", "migrations/*.sql", "db/*.go", "db/provision/*.go"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, names, pattern)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "event_kind.go") {
				continue
			}
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, match := range kind.FindAllSubmatch(text, -1) {
				written[string(match[1])] = true
			}
		}
	}
	listed := map[string]bool{}
	for _, match := range kind.FindAllStringSubmatch(pages(t)["docs/reference/events.md"], -1) {
		listed[match[1]] = true
	}
	require.Equal(t, written, listed)

	var all []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z_.`, ]+`) \\|").FindAllStringSubmatch(pages(t)["docs/reference/events.md"], -1) {
		all = append(all, strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")...)
	}
	require.Equal(t, db.EventKinds, all, "director events knows what the page lists")
}

// Pins a profile of the documentation that the director refuses.
func TestProfilesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile("(?s)```yaml\n(name: .*?)```").FindAllStringSubmatch(pages(t)["docs/how-to/matchmaking-profile.md"], -1)
	require.Len(t, shown, 3)
	for _, match := range shown {
		_, err := profile.Parse([]byte(match[1]))
		require.NoError(t, err, match[1])
	}
}

// Pins a declaration of the documentation that the director refuses.
func TestPoolsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile("(?s)```yaml\n((?:apps|projects):\n.*?)```")
	shown := declared.FindAllStringSubmatch(pages(t)["docs/provisioning.md"]+pages(t)["docs/how-to/gitops.md"], -1)
	require.Len(t, shown, 2)
	for _, match := range shown {
		_, err := poolfile.Parse([]byte(match[1]))
		require.NoError(t, err, match[1])
	}
}
