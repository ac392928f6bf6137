package peers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// openMatchClone names a clone of Open Match or of Embark's fork of it, whose end-to-end tests are run.
const openMatchClone = "DIRECTOR_TEST_OPENMATCH"

// differsFromOpenMatch are its tests of pages of ten, which is no setting here, and of a backfill that has expired a
// second ago, which a worker may have deleted by then.
const differsFromOpenMatch = "^(TestPaging|TestQueryBackfillsPaging|TestBackfillSkipExpiredError)$"

// TestOpenMatchsOwnTests runs the end-to-end tests of Open Match, or of its fork, against two replicas: its frontend
// and its queries call one, its backend the other. Their file that starts Open Match in memory is replaced by one that
// calls the replicas; nothing in the clone changes.
func TestOpenMatchsOwnTests(t *testing.T) {
	t.Parallel()
	clone := os.Getenv(openMatchClone)
	functions := rigtest.FreeAddr(t)
	r := rigtest.NewRigOn(t, clitest.BuildDirector(t), dbtest.New(t), "DIRECTOR_OM_OPEN=true",
		"DIRECTOR_OM_REGISTRATION=200ms",
		"DIRECTOR_OM_COLLECTION=200ms", "DIRECTOR_OM_PENDING_FOR=1s", "DIRECTOR_OM_ASSIGNED_FOR=200ms",
		"DIRECTOR_OM_EVALUATOR=grpc://"+functions)
	first, second := rigtest.FreeAddr(t), rigtest.FreeAddr(t)
	r.ServeReplica("--work", "--grpc-addr", first)
	r.ServeReplica("--work", "--grpc-addr", second)
	reset := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		r.ExecSQL("TRUNCATE tickets, settled_tickets, backfills, backfill_tickets")
	}))
	t.Cleanup(reset.Close)

	command := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-v", "-timeout", "10m",
		"-overlay", overlay(t, clone), "-skip", differsFromOpenMatch,
		"./testing/e2e")
	command.Dir = clone
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "E2E_FRONTEND="+first, "E2E_QUERY="+first,
		"E2E_BACKEND="+second,
		"E2E_FUNCTIONS="+functions, "E2E_RESET="+reset.URL)
	out, err := command.CombinedOutput()
	t.Logf("%s", regexp.MustCompile(`(?m)^(=== |time=.*level=(debug|info)).*\n`).ReplaceAll(out, nil))
	require.NoError(t, err)
	passed := regexp.MustCompile(`(?m)^--- PASS`).FindAll(out, -1)
	require.NotEmpty(t, passed)
	t.Logf("%d tests of %s passed", len(passed), clone)
}

// overlay returns a file for go test that puts our start in the place of theirs.
func overlay(t *testing.T, clone string) string {
	t.Helper()
	ours := must.Get(filepath.Abs("testdata/openmatch_start.go.txt"))(t)
	theirs := must.Get(filepath.Abs(filepath.Join(clone, "testing/e2e/in_memory.go")))(t)
	require.FileExists(t, theirs)
	text := must.Get(json.Marshal(map[string]map[string]string{"Replace": {theirs: ours}}))(t)
	file := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}
