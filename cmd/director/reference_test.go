package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/profile"
)

const generatedNote = "<!-- Generated: go test ./cmd/director -run TestReference -update -->\n\n"

// checkPage compares a page of docs/reference with its generated text, or writes it when -update is set.
func checkPage(t *testing.T, name, want string) {
	t.Helper()
	page := "../../docs/reference/" + name
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	got := must.Get(os.ReadFile(page))(t)
	require.Equal(t, want, string(got), "docs/reference/%s is out of date: go test ./cmd/director -run TestReference -update", name)
}

// cell escapes text for a cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

// Pins a page about commands or flags that no longer exist.
func TestReferenceCLI(t *testing.T) {
	t.Parallel()
	root := (&program{environ: newEnvironment(env()), stdin: strings.NewReader(""), stdout: &logtest.Buffer{},
		stderr: &logtest.Buffer{}}).rootCommand()
	var page strings.Builder
	page.WriteString("# The command `director`\n\n" + generatedNote + root.Long + "\n\n" +
		"A command that reads settings also has a flag for each of them; see [the settings](../configuration.md).\n" +
		"Commands that print a result take `--output table` (the default) or `--output json`, and `--wide`, which prints every column\n" +
		"of a table on a terminal that is too narrow.\n")
	for _, cmd := range root.Commands() {
		writeCommand(&page, cmd)
	}
	checkPage(t, "cli.md", page.String())
}

// writeCommand writes a section for cmd and for each command below it.
func writeCommand(page *strings.Builder, cmd *cobra.Command) {
	if !cmd.IsAvailableCommand() || cmd.Name() == "help" || cmd.Name() == "completion" {
		return
	}
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n```\n", cmd.CommandPath(), about)
	if cmd.Runnable() {
		fmt.Fprintln(page, cmd.UseLine())
	} else {
		fmt.Fprintln(page, cmd.CommandPath(), "COMMAND")
	}
	if cmd.HasExample() {
		fmt.Fprintf(page, "\n%s\n", cmd.Example)
	}
	page.WriteString("```\n")
	writeCommandFlags(page, cmd)
	for _, sub := range cmd.Commands() {
		writeCommand(page, sub)
	}
}

// writeCommandFlags writes a table of the flags that are not settings, and links to the settings that cmd reads.
func writeCommandFlags(page *strings.Builder, cmd *cobra.Command) {
	var rows, sections []string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		section := strings.Join(f.Annotations[sectionAnnotation], "")
		switch {
		case section == "" && !f.Hidden && !slices.Contains([]string{"help", "help-all", "output", "wide"}, f.Name):
			rows = append(rows, fmt.Sprintf("| `--%s` | %s | %s |\n", f.Name, codeSpan(f.DefValue), cell(f.Usage)))
		case section != "" && !slices.Contains(sections, section):
			sections = append(sections, section)
		}
	})
	if len(rows) > 0 {
		page.WriteString("\n| flag | default | |\n|---|---|---|\n" + strings.Join(rows, ""))
	}
	slices.SortStableFunc(sections, func(a, b string) int { return sectionOrder(a) - sectionOrder(b) })
	for i, section := range sections {
		sections[i] = fmt.Sprintf("[%s](../configuration.md#%s)", section,
			strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(section), ",", ""), " ", "-"))
	}
	if len(sections) > 0 {
		fmt.Fprintf(page, "\nIt reads the settings of: %s.\n", strings.Join(sections, ", "))
	}
}

// Pins a page about views, columns or functions that operators no longer find.
func TestReferenceOps(t *testing.T) {
	t.Parallel()
	pool := dbtest.Connect(t)
	var page strings.Builder
	page.WriteString("# The schema `ops`\n\n" + generatedNote +
		"Operators, dashboards and scripts read these views and call these functions, and nothing else of the database.\n" +
		"[`ops/grants.sql`](../../ops/grants.sql) makes roles for them.\n\n## Views\n")
	rows, err := pool.Query(t.Context(), `
		SELECT c.relname, coalesce(obj_description(c.oid), ''), a.attname, format_type(a.atttypid, a.atttypmod), coalesce(col_description(c.oid, a.attnum), '')
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
		WHERE c.relnamespace = 'ops'::regnamespace AND c.relkind = 'v' ORDER BY c.relname, a.attnum`)
	require.NoError(t, err)
	var view, about, column, kind, meaning, last string
	_, err = pgx.ForEachRow(rows, []any{&view, &about, &column, &kind, &meaning}, func() error {
		if view != last {
			fmt.Fprintf(&page, "\n### ops.%s\n\n%s\n\n| column | type | |\n|---|---|---|\n", view, about)
			last = view
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", column, kind, cell(meaning))
		return nil
	})
	require.NoError(t, err)
	page.WriteString("\n## Functions\n\n| function | returns | |\n|---|---|---|\n")
	rows, err = pool.Query(t.Context(), `
		SELECT p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), coalesce(obj_description(p.oid), '')
		FROM pg_proc p WHERE p.pronamespace = 'ops'::regnamespace ORDER BY 1, 2`)
	require.NoError(t, err)
	_, err = pgx.ForEachRow(rows, []any{&view, &column, &kind, &meaning}, func() error {
		fmt.Fprintf(&page, "| `ops.%s(%s)` | %s | %s |\n", view, column, cell(kind), cell(meaning))
		return nil
	})
	require.NoError(t, err)
	checkPage(t, "ops.md", page.String())
}

var metricHelp = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "((?:[^"\\]|\\.)*)"`)

// Pins a page about metrics or labels that are no longer served.
func TestReferenceMetrics(t *testing.T) {
	t.Parallel()
	registry := servedRegistry(t)
	help := map[string]string{}
	for description := range descriptions(registry) {
		found := metricHelp.FindStringSubmatch(description.String())
		require.NotNil(t, found, description)
		help[found[1]] = strings.ReplaceAll(found[2], `\"`, `"`)
	}
	kinds := metricKinds(t, registry, slices.Collect(maps.Keys(help)))
	labels := metricLabels(t, registry)
	var page strings.Builder
	page.WriteString("# Metrics\n\n" + generatedNote +
		"A replica and a worker serve these at `/metrics` of `DIRECTOR_METRICS_ADDR`, in the text format of Prometheus. The metrics of\n" +
		"workers (`director_worker_…`) are served by `director work`, `director serve --work` and `director dev`; those of Open Match where\n" +
		"`DIRECTOR_GRPC_ADDR` is set, those of agents (`director_agent…`) where `DIRECTOR_ORCHESTRATOR_ADDR` is, and those of bevygap's clients\n" +
		"(`director_bevygap_…`) where `DIRECTOR_BEVYGAP` is not off, those of its game servers (`director_bevygap_server…`) where `DIRECTOR_BEVYGAP_NATS_ADDR` is set. Besides, there are the usual metrics of Go (`go_…`) and of the process (`process_…`).\n\n" +
		"| metric | type | labels | |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(help)) {
		if strings.HasPrefix(name, "director_") {
			fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", name, kinds[name], strings.Join(labels[name], ", "), cell(help[name]))
		}
	}
	checkPage(t, "metrics.md", page.String())
}

// metricKinds returns the type of each metric. A vector without samples has no type yet, so its name decides, by the
// conventions of Prometheus. The test checks these conventions on all metrics that have samples.
func metricKinds(t *testing.T, registry *prometheus.Registry, names []string) map[string]string {
	t.Helper()
	kinds := map[string]string{}
	for _, name := range names {
		kinds[name] = kindByName(name)
	}
	families := must.Get(registry.Gather())(t)
	for _, family := range families {
		kind := strings.ToLower(family.GetType().String())
		if name := family.GetName(); strings.HasPrefix(name, "director_") && strings.HasSuffix(name, "_total") {
			require.Equal(t, "counter", kind, name)
		}
		kinds[family.GetName()] = kind
	}
	return kinds
}

func kindByName(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "_timestamp_seconds"):
		return "gauge"
	case strings.HasSuffix(name, "_seconds"), strings.HasSuffix(name, "_group_calls"):
		return "histogram"
	}
	return "gauge"
}

// Pins a page, a manifest or a unit with a setting that no longer exists.
func TestDocumentedVariablesAreSettings(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`\bDIRECTOR_[A-Z_]*[A-Z]\b`)
	var found []string
	for _, pattern := range []string{"*.md", "compose.yaml", "docs/*.md", "docs/*/*.md", "ops/kubernetes/*",
		"ops/helm/lattice-director/*.yaml", "ops/helm/lattice-director/templates/*", "ops/systemd/*"} {
		names, err := filepath.Glob("../../" + pattern)
		require.NoError(t, err)
		require.NotEmpty(t, names, pattern)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, v := range variable.FindAllString(string(text), -1) {
				if v != "DIRECTOR_MODE" && !strings.HasPrefix(v, "DIRECTOR_TEST_") {
					found = append(found, v+"=x")
				}
			}
		}
	}
	require.Empty(t, newEnvironment(found).unknownVariables())
}

// Pins a page about keys of profiles that the parser does not know.
func TestReferenceProfiles(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString("# The keys of a profile\n\n" + generatedNote +
		"A profile is a document of YAML or JSON, of at most 64 KiB. [How to write one](../how-to/matchmaking-profile.md). Reading is strict: a key that is not listed here is refused.\n" +
		"`director profiles schema` prints a JSON Schema of it for editors.\n\n" +
		"Numbers are finite, limits are inclusive, and texts are compared byte by byte. Durations have a unit: `60ms`, `10s`, `1m30s`. Anchors and aliases of YAML are\n" +
		"allowed, tags and merge keys are not. A profile has at most 32 rules, 64 teams, 1,024 players and 16 roles.\n")
	for _, section := range profile.Reference() {
		if section.Title != "" {
			fmt.Fprintf(&page, "\n## %s\n", section.Title)
		}
		if section.About != "" {
			fmt.Fprintf(&page, "\n%s\n", section.About)
		}
		page.WriteString("\n| key | allowed | default | |\n|---|---|---|---|\n")
		for _, key := range section.Keys {
			initial := key.Default
			if key.Required {
				initial = "required"
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", key.Name, cell(key.Values), cell(initial), cell(key.About))
		}
	}
	checkPage(t, "profiles.md", page.String())
}
