//go:build linux || darwin

package pglocal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/programtest"
)

// parentEnv makes this test binary a program that starts the cluster in the directory that the variable names, prints
// the postmaster's pid, and runs until its input ends.
const parentEnv = "PGLOCAL_TEST_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentEnv); dir != "" {
		if err := beParent(dir); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	syscall.Umask(0o022) // so that the user of Postgres may enter the directories of the tests
	code := m.Run()
	_ = pglocal.Remove(context.Background(), seedDir())
	os.Exit(code)
}

func beParent(dir string) error {
	c, err := pglocal.Start(context.Background(), pglocal.Options{Dir: dir, Durable: true})
	if err != nil {
		return err
	}
	fmt.Println(c.PID())
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return errors.Join(err, c.Stop(context.Background()))
}

// parent runs beParent in a process of its own, and returns the process with the first line that it prints.
func parent(t *testing.T, program, dir string, as *account) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), parentEnv+"="+dir)
	cmd.Dir, cmd.SysProcAttr = "/", as.attributes()
	line, _ := programtest.StartProgram(t, cmd)
	return cmd, line
}

// scratch returns a directory that Postgres can use whichever user runs the test. A cluster in it is removed at the
// end.
func scratch(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(programtest.PostgresDir(t), "c")
	t.Cleanup(func() { require.NoError(t, pglocal.Remove(context.Background(), dir)) })
	return dir
}

// seed makes one cluster. The other tests copy it, because initdb takes half a second.
var seed = sync.OnceValue(func() error {
	c, err := pglocal.Start(context.Background(), pglocal.Options{Dir: seedDir()})
	if err != nil {
		return err
	}
	return c.Stop(context.Background())
})

func seedDir() string {
	return filepath.Join(programtest.MemoryDir(), fmt.Sprintf("pglocal-seed-%d", os.Getpid()))
}

// seeded returns a scratch directory with a stopped cluster in it.
func seeded(t *testing.T) string {
	t.Helper()
	dir := scratch(t)
	require.NoError(t, seed())
	require.NoError(t, exec.Command("cp", "-a", seedDir(), dir).Run())
	return dir
}

// oddData makes a data directory that contains only its version.
func oddData(t *testing.T, dir, name, version string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o711))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name, "PG_VERSION"), []byte(version+"\n"), 0o600))
}

func start(t *testing.T, o pglocal.Options) *pglocal.Cluster {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	c := must.Get(pglocal.Start(t.Context(), o))(t)
	t.Cleanup(func() { require.NoError(t, c.StopImmediate()) })
	return c
}

func connect(t *testing.T, url string) (*pgx.Conn, error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn := must.Get(connect(t, url))(t)
	must.Get(conn.Exec(t.Context(), sql))(t)
}

func ask[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn := must.Get(connect(t, url))(t)
	var answer T
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&answer))
	return answer
}
