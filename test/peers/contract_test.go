package peers

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/token"
)

const contract = "../../api/openapi.yaml"

// credentials are what Schemathesis sends for each security scheme of the contract; "" sends none.
type credentials struct {
	fleet, deployment, backend, operator, player string
}

// contractRun is one run of Schemathesis.
type contractRun struct {
	phases      string
	codec       string // of texts: "ascii", with which a text has as many bytes as characters, or "" for all of Unicode
	examples    int    // how many each operation gets in each phase
	paths       string // a regular expression; "" is all
	credentials func(*contractRig) credentials
	isComplete  bool // whether every route has to succeed once
}

// allPhases is all that Schemathesis has.
const allPhases = "examples,coverage,fuzzing,stateful"

// contractRuns are by the kind of credential. The first four call all routes, the others those that the credential is
// for.
var contractRuns = map[string]contractRun{
	"each its own": {phases: allPhases, codec: "ascii", examples: 30, credentials: (*contractRig).ownCredentials, isComplete: true},
	"Unicode":      {phases: "fuzzing,stateful", examples: 20, credentials: (*contractRig).ownCredentials},
	"nobody":       {phases: "examples,coverage", examples: 1, credentials: func(*contractRig) credentials { return credentials{} }},
	"strangers":    {phases: "examples,coverage", examples: 1, credentials: (*contractRig).wrongCredentials},
	"instance": {phases: allPhases, examples: 10, paths: "^/fleet/", credentials: func(r *contractRig) credentials {
		return credentials{fleet: r.instance, deployment: r.instance}
	}},
	"enrolment": {phases: allPhases, examples: 10, paths: "^/fleet/", credentials: func(r *contractRig) credentials {
		return credentials{fleet: r.enrolment, deployment: r.enrolment}
	}},
	"deployment": {phases: allPhases, examples: 10, paths: "^/fleet/", credentials: func(r *contractRig) credentials {
		return credentials{fleet: r.tokenOf(token.ForFleet), deployment: r.tokenOf(token.ForContext)}
	}},
	"viewer": {phases: allPhases, examples: 10, paths: "^/ops/", credentials: func(*contractRig) credentials {
		return credentials{operator: contractViewer}
	}},
	"backend: players": {phases: allPhases, examples: 10, paths: "^/backend/", credentials: func(*contractRig) credentials {
		return credentials{backend: contractPlayers}
	}},
	"backend: tickets": {phases: allPhases, examples: 10, paths: "^/backend/", credentials: func(*contractRig) credentials {
		return credentials{backend: contractTickets}
	}},
}

// Pins an answer that the contract does not describe, and every 5xx that it describes only for outages. Schemathesis
// makes requests from the contract, valid ones, nearly valid ones, and chains in which a request uses what an answer
// before has returned, and sends them to two replicas in turn.
func TestContractHoldsForSchemathesis(t *testing.T) {
	t.Parallel()
	for kind, run := range contractRuns {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newContractRig(t)
			r.run(run)
			if run.isComplete {
				r.requireSuccesses()
			}
		})
	}
}

// run runs Schemathesis with a seed that is always the same, so that a failure repeats. DIRECTOR_TEST_SEED sets another
// one.
func (r *contractRig) run(c contractRun) {
	r.T.Helper()
	seed := cmp.Or(os.Getenv("DIRECTOR_TEST_SEED"), "1")
	dir := r.T.TempDir()
	config := filepath.Join(dir, "schemathesis.toml")
	require.NoError(r.T, os.WriteFile(config, []byte(c.config(r)), 0o600))
	file := must.Get(filepath.Abs(contract))(r.T)
	args := []string{"--config-file", config, "run", file, "--url", r.address, "--seed", seed, "--phases", c.phases,
		"--max-examples", strconv.Itoa(c.examples), "--generation-database", "none", "--no-color", "--continue-on-failure", "--generation-codec", cmp.Or(c.codec, "utf-8"),
		"--generation-allow-x00", strconv.FormatBool(c.codec == ""), "--output-sanitize", "false"}
	if c.paths != "" {
		args = append(args, "--include-path-regex", c.paths)
	}
	ctx, cancel := context.WithTimeout(r.T.Context(), 8*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "schemathesis", args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	r.T.Logf("%s", out)
	if err != nil {
		r.T.Errorf("schemathesis: %v", err)
	}
}

// unattainable are the routes that may carry nothing out here: a WebSocket, one that waits for a server of bevygap,
// answers to a match that asks for some seconds, and calls about an instance that others may have deregistered.
var unattainable = []string{"GET /matchmaker/ws", "POST /matchmaker/wannaplay", "POST /tickets/{id}/accept",
	"POST /tickets/{id}/decline", "POST /fleet/drain", "POST /fleet/clients"}

// requireSuccesses fails when a route of the contract has only refused, so that nothing of its answers was tested.
func (r *contractRig) requireSuccesses() {
	r.T.Helper()
	carriedOut := map[string]bool{}
	line := regexp.MustCompile(`(?m)^director_http_requests_total\{method="([A-Z]+)",route="([^"]+)",status="2[0-9]+"\}`)
	parameter := regexp.MustCompile(`:(\w+)`)
	for _, page := range r.metrics {
		_, text := clitest.Get(r.T, page)
		for _, found := range line.FindAllStringSubmatch(text, -1) {
			carriedOut[found[1]+" "+parameter.ReplaceAllString(found[2], "{$1}")] = true
		}
	}
	document := must.Get(contracttest.Document())(r.T)
	var refused []string
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			route := method + " " + path
			if !carriedOut[route] && !slices.Contains(unattainable, route) {
				refused = append(refused, route)
			}
		}
	}
	require.Empty(r.T, refused)
}
