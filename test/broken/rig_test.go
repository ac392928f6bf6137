package broken

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/test/rigtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	clitest.RemoveDirector()
	os.Exit(code)
}

const opsToken = "an-operators-token-of-tests"

// installation is a Postgres of its own with a replica, which is a worker as well and serves the console.
type installation struct {
	*rigtest.Rig

	replica          *rigtest.Process
	console, metrics string
}

// heartbeat is the interval of game servers that are alive: a third of the lease.
const heartbeat = time.Second

// deadline bounds how long a fault may take to be named, on a machine that is busy.
const deadline = 2 * time.Minute

func newInstallation(t *testing.T, r *rigtest.Rig) *installation {
	t.Helper()
	i := &installation{Rig: r, console: rigtest.FreeAddr(t), metrics: rigtest.FreeAddr(t)}
	i.NextEnv = append(i.NextEnv, "DIRECTOR_OPS_TOKENS="+opsToken)
	i.replica = i.ServeReplica("--work", "--console-addr", i.console, "--metrics-addr", i.metrics)
	return i
}

// diagnose runs doctor until a diagnosis satisfies want, and returns it.
func (i *installation) diagnose(want func(doctor.Diagnosis) bool) (d doctor.Diagnosis) {
	i.T.Helper()
	require.Eventually(i.T, func() bool {
		cmd := exec.CommandContext(i.T.Context(), i.BinaryPath, "doctor", "-o", "json")
		cmd.Env = i.NextEnv
		out, _ := cmd.Output() // exit code 1: a check failed
		d = doctor.Diagnosis{}
		return json.Unmarshal(out, &d) == nil && want(d)
	}, deadline, time.Second, "%+v", &d)
	return d
}

// readReadiness returns what /readyz of the replica answers.
func (i *installation) readReadiness() (status int, detail string) {
	i.T.Helper()
	status, answer, err := i.CallJSON(i.T.Context(), http.MethodGet, i.replica.URL+"/readyz", http.Header{}, nil)
	require.NoError(i.T, err)
	detail, _ = answer["detail"].(string)
	return status, detail
}

// healthPage returns the console's page of health, as an operator sees it.
func (i *installation) healthPage() string {
	i.T.Helper()
	jar := must.Get(cookiejar.New(nil))(i.T)
	client := &http.Client{Jar: jar, Timeout: 30 * time.Second}
	res, err := client.PostForm("http://"+i.console+"/login", url.Values{"token": {opsToken}})
	require.NoError(i.T, err)
	_ = res.Body.Close()
	return html.UnescapeString(webtest.Send(i.T, client, webtest.Request(i.T, http.MethodGet, "http://"+i.console+"/health", nil)).Body)
}

// firstProblem finds the check that the page of health names first, and what it says.
var firstProblem = regexp.MustCompile(`(?s)<p class="note \w+"><strong>([^<]+):</strong> (.*?)<br>`)

// firstProblemOn returns the check that the page of health names first, and what it says.
func firstProblemOn(page string) (check, says string) {
	found := firstProblem.FindStringSubmatch(page)
	if found == nil {
		return "", ""
	}
	return found[1], found[2]
}

// gauge finds the samples that the alerts of this package read.
var gauge = regexp.MustCompile(`(?m)^(director_(?:finding_severity|key_set_keys)\{[^}]*\}) ([0-9.]+)$`)

// requireAlert requires that the alert fires if the gauges of the installation stay as they are. A worker needs up to
// 15 seconds to see a fault.
func (i *installation) requireAlert(name string) {
	i.T.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		fmt.Fprintln(os.Stderr, "NOT TESTED: that the alerts fire (promtool is not installed)")
		return
	}
	rules := must.Get(filepath.Abs("../../ops/prometheus/alerts.yaml"))(i.T)
	var out []byte
	require.Eventually(i.T, func() bool {
		var series strings.Builder
		_, metrics := clitest.Get(i.T, "http://"+i.metrics+"/metrics")
		for _, m := range gauge.FindAllStringSubmatch(metrics, -1) {
			// 80 values at the interval of 15 s are 20 minutes: more than an alert waits until it fires.
			fmt.Fprintf(&series, "      - {series: '%s', values: '%sx80'}\n", m[1], m[2])
		}
		file := filepath.Join(i.T.TempDir(), "alert.yaml")
		text := fmt.Sprintf("rule_files: [%s]\nevaluation_interval: 15s\ntests:\n  - interval: 15s\n    input_series:\n%s"+
			"    promql_expr_test:\n"+
			"      - {expr: 'count(count by (alertname) (ALERTS{alertstate=\"firing\", alertname=\"%s\"}))', eval_time: 15m, exp_samples: [{labels: '{}', value: 1}]}\n",
			rules, series.String(), name)
		require.NoError(i.T, os.WriteFile(file, []byte(text), 0o600))
		out, err = exec.CommandContext(context.WithoutCancel(i.T.Context()), promtool, "test", "rules",
			file).CombinedOutput()
		return err == nil
	}, deadline, time.Second, "%s", &out)
}

func regexpMatches(expr, text string) bool { return regexp.MustCompile(expr).MatchString(text) }

// unanchored returns an expression that may match in the middle of a page.
func unanchored(expr string) string { return strings.TrimSuffix(strings.TrimPrefix(expr, "^"), "$") }

// withPassword replaces the password of a connection string.
func withPassword(t *testing.T, at, password string) string {
	t.Helper()
	u := must.Get(url.Parse(at))(t)
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String()
}
