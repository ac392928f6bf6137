package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// claimed are the pages whose claims are compared with the code. CHANGELOG.md is about the past.
func claimed(t *testing.T) map[string]string {
	t.Helper()
	all := pages(t)
	delete(all, "CHANGELOG.md")
	return all
}

// named returns what an expression finds in the code, its first group.
func named(t *testing.T, expression, pattern string) map[string]bool {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(root, pattern)))(t)
	found := map[string]bool{}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for _, match := range regexp.MustCompile(expression).FindAllSubmatch(text, -1) {
			found[string(match[1])] = true
		}
	}
	require.NotEmpty(t, found, "%s in %s", expression, pattern)
	return found
}

// Pins a setting that the documentation names and no command has: one that was renamed, or never was.
func TestSettingsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`\bDIRECTOR_[A-Z0-9_]*[A-Z0-9]\b`)
	known := map[string]bool{}
	for _, name := range variable.FindAllString(pages(t)["docs/configuration.md"], -1) {
		known[name] = true
	}
	for _, pattern := range []string{"internal/testkit/*/*.go", "internal/dev/*/*.go", "test/*/*.go", "bench/*/*.go", "server/*/*/*_test.go", "provider/*/*_test.go", "match/*/*_test.go", "db/*_test.go", "examples/*/*.go", "sdk/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, name := range variable.FindAllString(string(text), -1) {
				known[name] = true
			}
		}
	}
	require.Greater(t, len(known), 100)
	for page, text := range claimed(t) {
		for _, at := range variable.FindAllStringIndex(text, -1) {
			name := text[at[0]:at[1]]
			if strings.HasPrefix(text[at[1]:], "_") || strings.HasPrefix(text[at[1]:], "*") { // the beginning of several
				continue
			}
			require.True(t, known[name], "%s names the setting %s", page, name)
		}
	}
}

// Pins a command of the documentation that the program does not have, or a flag that it does not take.
func TestCommandsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	reference := pages(t)["docs/reference/cli.md"]
	settings := map[string]bool{"help": true, "output": true, "wide": true}
	for _, name := range regexp.MustCompile(`\b(?:DIRECTOR_|(DATABASE_))([A-Z0-9_]+)\b`).FindAllStringSubmatch(pages(t)["docs/configuration.md"], -1) {
		settings[strings.ToLower(strings.ReplaceAll(name[1]+name[2], "_", "-"))] = true
	}
	flags := map[string]map[string]bool{"director completion": {}, "director help": {}, "director version": {}}
	for _, section := range regexp.MustCompile(`(?m)^#+ `).Split(reference, -1) {
		title, body, _ := strings.Cut(section, "\n")
		title = strings.Trim(title, "`")
		flags[title] = map[string]bool{}
		for _, flag := range regexp.MustCompile(`--([a-z][a-z0-9-]*)`).FindAllStringSubmatch(body, -1) {
			flags[title][flag[1]] = true
		}
	}
	require.Contains(t, flags, "director fleet drain")
	command := regexp.MustCompile("(?:^|[`\n(] *|\\$ |\\.bin/)director((?: [a-z][a-z-]*)+)((?: [^`\n|;#]*)?)")
	for page, text := range claimed(t) {
		if page == "docs/reference/cli.md" {
			continue
		}
		for _, match := range command.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(match[1])
			name, isKnown := "", false
			for n := len(words); n > 0 && !isKnown; n-- { // the words behind the command are its arguments
				name = "director " + strings.Join(words[:n], " ")
				_, isKnown = flags[name]
			}
			require.True(t, isKnown, "%s names the command director%s", page, match[1])
			for _, flag := range regexp.MustCompile(`(?:^| )--([a-z][a-z0-9-]*)`).FindAllStringSubmatch(match[2], -1) {
				require.True(t, flags[name][flag[1]] || settings[flag[1]], "%s: %s takes no --%s", page, name, flag[1])
			}
		}
	}
}

// Pins a claim about what starts game servers: pages that count or list the providers name those that there are.
func TestProvidersOfTheDocumentation(t *testing.T) {
	t.Parallel()
	known := named(t, `provider[A-Z]\w+ += "([a-z]+)"`, "cmd/director/provider_set.go")
	all := pages(t)
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| ").FindAllStringSubmatch(all["docs/how-to/providers.md"], -1) {
		listed[row[1]] = true
	}
	require.Equal(t, known, listed, "the table of docs/how-to/providers.md")
	setting := regexp.MustCompile(`DIRECTOR_PROVIDERS=([a-z,]+)`)
	for page, text := range claimed(t) {
		for _, match := range setting.FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(match[1], ",") {
				require.True(t, known[name], "%s: DIRECTOR_PROVIDERS=%s", page, match[1])
			}
		}
		for _, claim := range []string{"starts no server", "start no server", "does not start servers", "cannot start servers"} {
			at := strings.Index(text, "director "+claim)
			require.Negative(t, at, "%s says that the director %s: it does, through providers", page, claim)
		}
	}
}

// Pins a function or a view of schema ops, a metric or a kind of event that the documentation names and nobody has.
func TestNamesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	relations := named(t, `(?m)^CREATE (?:VIEW|FUNCTION) ops\.([a-z_]+)`, "db/schema.sql")
	metrics := named(t, "`(director_[a-z_]+)`", "docs/reference/metrics.md")
	kinds := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z_.`, ]+`) \\|").FindAllStringSubmatch(pages(t)["docs/reference/events.md"], -1) {
		for name := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			kinds[name] = true
		}
	}
	relation := regexp.MustCompile(`\bops\.([a-z_]+[a-z])\b`)
	metric := regexp.MustCompile(`\bdirector_[a-z_]+_(?:total|seconds|bytes|ratio)\b`)
	kind := regexp.MustCompile("`((?:instance|session|match|profile|pool|deployment|agent|lobby|key|seat|ticket)\\.[a-z_]+ed)`")
	others := []string{"ops.md", "ops.example"} // a page, a host
	for page, text := range claimed(t) {
		for _, match := range relation.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(others, match[0]) {
				require.True(t, relations[match[1]], "%s names %s", page, match[0])
			}
		}
		for _, name := range metric.FindAllString(text, -1) {
			require.True(t, metrics[name] || metrics[strings.TrimSuffix(name, "_seconds")+"_seconds"], "%s names the metric %s", page, name)
		}
		for _, match := range kind.FindAllStringSubmatch(text, -1) {
			require.True(t, kinds[match[1]], "%s names the event %s", page, match[1])
		}
	}
}
