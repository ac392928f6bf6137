//go:build linux || darwin

package dbtest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/programtest"
)

// holdEnv makes this test binary a program that starts its cluster, prints the address and waits for the end of its
// input.
const holdEnv = "DBTEST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdEnv) != "" {
		s, err := dbtest.StartLocal(context.Background())
		if err != nil {
			fmt.Println("error:", err)
			return
		}
		fmt.Println(s.URL())
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return
	}
	os.Exit(m.Run())
}

// The clusters are in memory: each test process that leaves one behind takes some of it away.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*exec.Cmd, func()){
		"ends":   func(_ *exec.Cmd, letGo func()) { letGo() },
		"killed": func(cmd *exec.Cmd, _ func()) { _ = cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), holdEnv+"=1")
			url, letGo := programtest.StartProgram(t, cmd)
			require.NotContains(t, url, "error")
			require.Len(t, dirsOf(cmd), 1)
			end(cmd, letGo)
			_ = cmd.Wait()
			require.Eventually(t, func() bool { return len(dirsOf(cmd)) == 0 }, 10*time.Second, 5*time.Millisecond)
			_, err := pgx.Connect(t.Context(), url)
			require.Error(t, err)
		})
	}
}

func dirsOf(cmd *exec.Cmd) []string {
	dirs, _ := filepath.Glob(filepath.Join(dbtest.FastDir(), fmt.Sprintf("%s%d-*", dbtest.DirPrefix, cmd.Process.Pid)))
	return dirs
}

// When everything was killed at once, the next test process clears away, and leaves alone what is in use.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	used := dbtest.NewCluster(t, pglocal.Options{})
	left := filepath.Join(dbtest.FastDir(), dbtest.DirPrefix+"0-LEFT")
	require.NoError(t, os.MkdirAll(filepath.Join(left, "data", "base"), 0o700))
	dbtest.SweepDirs(t.Context())
	require.NoDirExists(t, left)
	pool, err := pgxpool.New(t.Context(), used.URL("postgres"))
	require.NoError(t, err)
	defer pool.Close()
	require.Equal(t, 1, one[int](t, pool, "select 1"))
}

// go test runs packages side by side: on one server they must share the template, make it once, and leave only it.
func TestProcessesShareAServer(t *testing.T) {
	t.Parallel()
	shared := dbtest.NewCluster(t, pglocal.Options{})
	pool, err := pgxpool.New(t.Context(), shared.URL("postgres"))
	require.NoError(t, err)
	defer pool.Close()
	recently, long := time.Now().UTC().Format(time.RFC3339), "2020-01-01T00:00:00Z"
	for _, statement := range []string{
		"create database " + dbtest.TestPrefix + "1600000000_killed",
		"create database " + dbtest.TestPrefix + fmt.Sprint(time.Now().Unix()) + "_running",
		"create database " + dbtest.TemplatePrefix + "old is_template true allow_connections false",
		"comment on database " + dbtest.TemplatePrefix + "old is '" + long + "'",
		"create database " + dbtest.TemplatePrefix + "branch is_template true allow_connections false",
		"comment on database " + dbtest.TemplatePrefix + "branch is '" + recently + "'",
		"create database somebody_elses",
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() { // some of these tests run again, as another process on that server
			cmd := exec.Command(os.Args[0], "-test.run=^TestThereIsRoomForManyConnections$", "-test.count=1")
			cmd.Env = append(os.Environ(), "TEST_DATABASE_URL="+shared.URL("postgres"), "DIRECTOR_TEST_PG=url")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wait.Wait()

	names := one[[]string](t, pool, `select array_agg(regexp_replace(datname, '_[0-9]+_|_[0-9a-f]{12}[0-9]{8}$', '_..'))
		from pg_database where oid >= 16384`)
	require.ElementsMatch(t, []string{
		"director_template_..", "director_template_branch", "director_test_..running", "somebody_elses",
	}, names)
}
