// Package compose_test reads compose.yaml with the code of Docker Compose, and checks that what its services mount and
// name exists.
package compose_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// project returns compose.yaml as Docker Compose reads it: checked against its schema, with variables and paths
// resolved.
func project(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "compose.yaml")}, cli.WithResolvedPaths(true))
	require.NoError(t, err)
	p, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	return p
}

// read decodes a file of YAML or JSON strictly.
func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(text, into), file)
}

// Pins a mount of a file that was renamed: Docker makes an empty directory of that name, and the service does not
// start.
func TestEverythingThatIsMountedExists(t *testing.T) {
	t.Parallel()
	mounted := 0
	for _, s := range project(t).Services {
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				require.FileExists(t, existing(t, v.Source), s.Name)
				require.True(t, v.ReadOnly, "%s: %s", s.Name, v.Source)
				mounted++
			}
		}
	}
	require.Equal(t, 7, mounted)
}

// existing returns the path of a file, or of a file in a directory.
func existing(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	if !info.IsDir() {
		return path
	}
	files, err := filepath.Glob(filepath.Join(path, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files, path)
	return files[0]
}

// mountedAt returns the path in the repository of what a service has at a path.
func mountedAt(t *testing.T, p *types.Project, service, target string) string {
	t.Helper()
	base, err := filepath.Abs(root)
	require.NoError(t, err)
	for _, v := range p.Services[service].Volumes {
		if v.Target == target {
			path, err := filepath.Rel(base, v.Source)
			require.NoError(t, err)
			return path
		}
	}
	require.Fail(t, "not mounted", "%s: %s", service, target)
	return ""
}

// Pins replicas or workers that Prometheus does not scrape, or under another job than the one of the alerts.
func TestPrometheusScrapesAllReplicasAndWorkers(t *testing.T) {
	t.Parallel()
	p := project(t)
	var conf struct {
		Global        map[string]string `json:"global"`
		RuleFiles     []string          `json:"rule_files"`
		ScrapeConfigs []struct {
			JobName    string `json:"job_name"`
			DNSConfigs []struct {
				Names           []string `json:"names"`
				Type            string   `json:"type"`
				Port            int      `json:"port"`
				RefreshInterval string   `json:"refresh_interval"`
			} `json:"dns_sd_configs"`
		} `json:"scrape_configs"`
	}
	read(t, mountedAt(t, p, "prometheus", "/etc/prometheus/prometheus.yml"), &conf)
	require.Len(t, conf.ScrapeConfigs, 1)
	require.Equal(t, "director", conf.ScrapeConfigs[0].JobName)
	scraped := conf.ScrapeConfigs[0].DNSConfigs[0]
	var running []string
	for name, s := range p.Services {
		if len(s.Command) == 1 && (s.Command[0] == "serve" || s.Command[0] == "work") {
			running = append(running, name)
			require.Equal(t, ":"+strconv.Itoa(scraped.Port), *s.Environment["DIRECTOR_METRICS_ADDR"], name)
		}
	}
	require.ElementsMatch(t, running, scraped.Names)
	require.Equal(t, []string{"alerts.yaml"}, conf.RuleFiles, "relative to the directory of prometheus.yml")
	require.Equal(t, "ops/prometheus/alerts.yaml", mountedAt(t, p, "prometheus", "/etc/prometheus/alerts.yaml"))
}

// Pins dashboards that stay empty: no data source of their type, one that names another service, or a login that nobody
// creates.
func TestGrafanaHasTheDataSourcesOfItsDashboards(t *testing.T) {
	t.Parallel()
	p := project(t)
	var sources struct {
		APIVersion  int `json:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, URL, User string
			IsDefault                  bool           `json:"isDefault"`
			JSONData                   map[string]any `json:"jsonData"`
			SecureJSONData             map[string]string
		} `json:"datasources"`
	}
	read(t, mountedAt(t, p, "grafana", "/etc/grafana/provisioning/datasources/director.yaml"), &sources)
	types := map[string]bool{}
	for _, s := range sources.Datasources {
		types[s.Type] = true
		host, _, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
		require.Contains(t, p.Services, host, s.Name)
		if s.User != "" {
			grants := strings.Join(p.Services["grants"].Command, "\n")
			require.Contains(t, grants, "ALTER ROLE "+s.User+" LOGIN PASSWORD '"+s.SecureJSONData["password"]+"'")
			require.Equal(t, *p.Services["postgres"].Environment["POSTGRES_DB"], s.JSONData["database"])
		}
	}
	for _, file := range dashboards(t, p) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var d struct {
			Templating struct {
				List []struct{ Name, Type, Query string }
			}
		}
		require.NoError(t, json.Unmarshal(text, &d))
		require.Equal(t, "datasource", d.Templating.List[0].Type, file)
		require.Contains(t, types, d.Templating.List[0].Query, file)
		require.NotContains(t, string(text), "${DS_", "%s: an import would ask; provisioning does not", file)
	}
}

// dashboards returns the files that Grafana shows.
func dashboards(t *testing.T, p *types.Project) []string {
	t.Helper()
	var provided struct {
		APIVersion int `json:"apiVersion"`
		Providers  []struct {
			Name, Type     string
			AllowUIUpdates bool `json:"allowUiUpdates"`
			Options        struct{ Path string }
		} `json:"providers"`
	}
	read(t, mountedAt(t, p, "grafana", "/etc/grafana/provisioning/dashboards/director.yaml"), &provided)
	dir := mountedAt(t, p, "grafana", provided.Providers[0].Options.Path)
	files, err := filepath.Glob(filepath.Join(root, dir, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	home := *p.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	require.FileExists(t, filepath.Join(root, dir, filepath.Base(home)))
	return files
}

// Pins a port that two services publish, and a page without login that the network of the machine can reach.
func TestPublishedPorts(t *testing.T) {
	t.Parallel()
	published := map[string]string{}
	for _, s := range project(t).Services {
		for _, port := range s.Ports {
			require.NotContains(t, published, port.Published)
			published[port.Published] = port.HostIP
		}
	}
	require.Equal(t, map[string]string{"8080": "", "9090": "127.0.0.1", "3001": "127.0.0.1"}, published)
}
