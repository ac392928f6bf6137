package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// alertRule has the fields of a rule in ops/prometheus/alerts.yaml that the tests check.
type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alertRules(t *testing.T) (rules []alertRule) {
	t.Helper()
	text := must.Get(os.ReadFile("../../ops/prometheus/alerts.yaml"))(t)
	var file struct {
		Groups []struct {
			Rules []alertRule `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	require.Greater(t, len(rules), 8)
	return rules
}

var describedMetric = regexp.MustCompile(`^Desc\{fqName: "([^"]+)".*variableLabels: \{([^}]*)\}\}$`)

// servedRegistry returns the metrics of a replica and a worker in one process.
func servedRegistry(t *testing.T) *prometheus.Registry {
	t.Helper()
	environ := newEnvironment(serving("postgres://u@127.0.0.1:1/d", login(t).JWKS(), "DIRECTOR_GRPC_ADDR=127.0.0.1:0",
		"DIRECTOR_ORCHESTRATOR_ADDR=127.0.0.1:0", "DIRECTOR_ORCHESTRATOR_ADMIN_KEYS=admin-key-0123456789", "DIRECTOR_BEVYGAP=guests",
		"DIRECTOR_BEVYGAP_NATS_ADDR=127.0.0.1:0",
		"DIRECTOR_PROVIDERS=manual", "DIRECTOR_PUBLIC_URL=http://127.0.0.1:1",
		"DIRECTOR_REALTIME_ADDR=127.0.0.1:0", "DIRECTOR_REALTIME_MASTER_SECRET="+lobbyMaster))
	p := &program{environ: environ, stderr: &logtest.Buffer{}}
	conf := must.Get(loadSettings(p.serveCommand().Flags(), environ, byServe))(t)
	proc := must.Get(openProcess(t.Context(), "serve", conf, p.newLog(conf)))(t)
	t.Cleanup(proc.closeAll)
	_, _, err := proc.makeReplica(t.Context(), true)
	require.NoError(t, err)
	return proc.metricsRegistry
}

// descriptions returns the descriptions of all metrics of a registry.
func descriptions(registry *prometheus.Registry) <-chan *prometheus.Desc {
	all := make(chan *prometheus.Desc)
	go func() { registry.Describe(all); close(all) }()
	return all
}

// metricLabels returns the labels of each metric.
func metricLabels(t *testing.T, registry *prometheus.Registry) map[string][]string {
	t.Helper()
	metrics := map[string][]string{}
	for d := range descriptions(registry) {
		found := describedMetric.FindStringSubmatch(d.String())
		require.NotNil(t, found, d.String())
		metrics[found[1]] = strings.Split(found[2], ",")
	}
	return metrics
}

var (
	usedMetric  = regexp.MustCompile(`\b(director_\w+|up)\b(?:\{([^}]*)\})?`)
	usedLabel   = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	groupedBy   = regexp.MustCompile(`\bby \(([^)]*)\)`)
	partOfChart = regexp.MustCompile(`_(bucket|sum|count)$`) // of a histogram
)

// Pins an alert that never fires, because it names a metric or a label that does not exist.
func TestAlertsNameMetricsThatAreServed(t *testing.T) {
	t.Parallel()
	served := metricLabels(t, servedRegistry(t))
	served["up"] = nil
	for _, rule := range alertRules(t) {
		requireServed(t, served, rule.Alert, rule.Expr)
	}
}

// Pins an alert that nobody has seen fire, or an expression that Prometheus refuses. Where promtool is missing, only
// the names are compared.
func TestEachAlertFiresInItsTest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ops/prometheus/alerts_test.yaml")
	require.NoError(t, err)
	for _, rule := range alertRules(t) {
		require.Contains(t, string(text), `{alertname="`+rule.Alert+`"}`)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		fmt.Fprintln(os.Stderr, "NOT TESTED: that the alerts fire (promtool is not installed)")
		return
	}
	run := exec.CommandContext(t.Context(), promtool, "test", "rules", "alerts_test.yaml")
	run.Dir = "../../ops/prometheus"
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// promPanel is a panel of a dashboard that reads Prometheus.
type promPanel struct {
	Title   string
	GridPos struct{ Y int }
	Targets []struct{ Expr string }
}

// requirePanels requires that the panels of a dashboard that read Prometheus name metrics that are served.
func requirePanels(t *testing.T, file string) (panels []promPanel, shown string) {
	t.Helper()
	text := must.Get(os.ReadFile("../../ops/grafana/" + file))(t)
	var dashboard struct{ Panels []promPanel }
	require.NoError(t, json.Unmarshal(text, &dashboard))
	served := metricLabels(t, servedRegistry(t))
	for _, p := range dashboard.Panels {
		p.Targets = slices.DeleteFunc(p.Targets, func(target struct{ Expr string }) bool { return target.Expr == "" })
		if len(p.Targets) == 0 {
			continue
		}
		panels = append(panels, p)
		for _, target := range p.Targets {
			requireServed(t, served, p.Title, target.Expr)
		}
	}
	return panels, string(text)
}

// Pins a first row that is not about requests, and a panel of it that stays empty.
func TestTheDashboardBeginsWithRequests(t *testing.T) {
	t.Parallel()
	panels, _ := requirePanels(t, "director.json")
	require.Len(t, panels, 3, "rate, errors, duration")
	for _, p := range panels {
		require.Equal(t, 1, p.GridPos.Y, "%s is in the first row", p.Title)
		require.Contains(t, p.Targets[0].Expr, "by (", p.Title)
		require.Contains(t, p.Targets[0].Expr, "route", p.Title)
	}
}

// Pins a panel that stays empty, because it names a metric or a label that does not exist.
func TestTheDashboardOfRivalisNamesMetricsThatAreServed(t *testing.T) {
	t.Parallel()
	panels, shown := requirePanels(t, "rivalis.json")
	require.NotEmpty(t, panels)
	for name := range metricLabels(t, servedRegistry(t)) {
		if strings.HasPrefix(name, "director_agent") || strings.HasPrefix(name, "director_roster") ||
			strings.HasPrefix(name, "director_fleet_event") {
			if name != "director_agent_panics_total" &&
				name != "director_roster_instances" { // an alert; director_agents shows as much
				require.Contains(t, shown, name)
			}
		}
	}
}

// requireServed requires that the metrics of an expression, and their labels, are served.
func requireServed(t *testing.T, served map[string][]string, where, expr string) {
	t.Helper()
	byScrape := []string{"job", "instance", "le"}
	used := usedMetric.FindAllStringSubmatch(expr, -1)
	require.NotEmpty(t, used, where)
	for _, m := range used {
		name := m[1]
		if _, found := served[name]; !found {
			name = partOfChart.ReplaceAllString(name, "")
		}
		require.Contains(t, served, name, where)
		labels := usedLabel.FindAllStringSubmatch(m[2], -1)
		for _, by := range groupedBy.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(by[1], ",") {
				labels = append(labels, []string{"", strings.TrimSpace(label)})
			}
		}
		for _, label := range labels {
			require.Contains(t, slices.Concat(served[name], byScrape), label[1], "%s: %s", where, name)
		}
	}
}

// Pins an alert that names a section of the runbook that does not exist.
func TestAlertsNameTheirSectionOfTheRunbook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	page := string(text)
	watch, err := os.ReadFile("../../docs/watch.md")
	require.NoError(t, err)
	listed := regexp.MustCompile("`(Director\\w+)`").FindAllString(string(watch), -1)
	for _, rule := range alertRules(t) {
		section := rule.Annotations["section"]
		heading := regexp.MustCompile("(?m)^## " + strings.ReplaceAll(regexp.QuoteMeta(section), "no_capacity", "`?no_capacity`?") + "$")
		require.True(t, heading.MatchString(page), "%s: no section %q", rule.Alert, section)
		anchor := regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(strings.ToLower(section), "")
		require.True(t, strings.HasSuffix(rule.Annotations["runbook_url"],
			"/docs/runbook.md#"+strings.ReplaceAll(anchor, " ", "-")), rule.Alert)
		require.Contains(t, []string{"page", "ticket"}, rule.Labels["severity"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.Contains(t, listed, "`"+rule.Alert+"`", "docs/watch.md lists every alert")
	}
}
