//go:build linux || darwin

package dbtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// The socket and the TCP port of the cluster that fakeDocker shows as a container.
const (
	containerURL  = "DBTEST_CONTAINER_URL"
	containerPort = "DBTEST_CONTAINER_PORT"
)

// fakeDocker is this test binary under the name docker: it gives a cluster the password of the container that it is asked for.
func fakeDocker(args []string) {
	switch args[0] {
	case "run":
		fmt.Println("Status: Downloaded newer image")
		for _, arg := range args {
			if password, found := strings.CutPrefix(arg, "POSTGRES_PASSWORD="); found {
				fmt.Println(setPassword(password))
			}
		}
	case "port":
		fmt.Println("0.0.0.0:" + os.Getenv(containerPort))
	}
}

// setPassword returns the id of the container, or what went wrong.
func setPassword(password string) string {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv(containerURL))
	if err != nil {
		return err.Error()
	}
	if _, err := conn.Exec(ctx, "ALTER ROLE postgres PASSWORD '"+password+"'"); err != nil {
		return err.Error()
	}
	return "4f5e1a"
}

// A machine without binaries of Postgres uses a container, found by the port that Docker publishes.
func TestContainer(t *testing.T) {
	c := dbtest.NewCluster(t, pglocal.Options{TCPPort: pglocal.AnyPort})
	config, err := pgx.ParseConfig(c.TCPURL("postgres"))
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "docker")))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv(containerURL, c.URL("postgres"))
	t.Setenv(containerPort, fmt.Sprint(config.Port))
	s, err := dbtest.StartContainer(t.Context())
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), s.URL())
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))

	t.Setenv("PATH", t.TempDir())
	_, err = dbtest.StartContainer(t.Context())
	require.ErrorContains(t, err, "docker")
}
