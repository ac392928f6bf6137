// Command pgcontainer starts a Postgres for tests in Docker, and prints the container's id and the address of its
// database, a line each. The caller removes the container. It is a program of its own so that the library of
// containers, which most machines do not need, is not linked into the tests of every package.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/lattice-director/director/internal/dev/pglocal"
)

const (
	image        = "postgres:17-alpine"
	startTimeout = time.Minute
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	// The library's own cleaner would remove the container as soon as this program has ended.
	if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
		return err
	}
	container, password, err := startContainer(ctx)
	if err != nil {
		return err
	}
	// Before the container has answered: the caller removes it also if it never does.
	fmt.Fprintln(os.Stdout, container.GetContainerID())
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	address, err := findAddress(ctx, container, password)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, address)
	return nil
}

func startContainer(ctx context.Context) (_ testcontainers.Container, password string, err error) {
	// Without a daemon, postgres.Run panics, while Health returns an error.
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return nil, "", err
	}
	if err := provider.Health(ctx); err != nil {
		return nil, "", err
	}
	password = rand.Text()
	container, err := postgres.Run(ctx, image,
		postgres.WithDatabase("postgres"), postgres.WithUsername("postgres"), postgres.WithPassword(password),
		testcontainers.WithCmd(serverCommand()...),
		testcontainers.WithTmpfs(map[string]string{"/var/lib/postgresql/data": "rw"}),
		testcontainers.WithLogger(log.New(io.Discard, "", 0)),
		// The image starts the server once to set it up, and then for good.
		testcontainers.WithWaitStrategyAndDeadline(startTimeout,
			wait.ForLog("ready to accept connections").WithOccurrence(2)))
	if err != nil {
		return nil, "", errors.Join(err, testcontainers.TerminateContainer(container))
	}
	return container, password, nil
}

// serverCommand returns the command that runs Postgres with settings for data that nobody keeps.
func serverCommand() []string {
	args := []string{"postgres"}
	settings := pglocal.ThrowawaySettings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// findAddress returns the address under which the container answers. The host that the library guesses is wrong when
// the tests run in a container, too, beside the daemon, or when a file on this machine makes that seem so.
func findAddress(ctx context.Context, container testcontainers.Container, password string) (string, error) {
	port, err := container.MappedPort(ctx, "5432/tcp")
	if err != nil {
		return "", err
	}
	guessed, err := container.Host(ctx)
	if err != nil {
		return "", err
	}
	var lastErr error
	for {
		for _, host := range []string{guessed, "127.0.0.1", "host.docker.internal"} {
			u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password),
				Host: net.JoinHostPort(host, port.Port()), Path: "/postgres", RawQuery: "sslmode=disable"}
			lastErr = ping(ctx, u.String())
			if lastErr == nil {
				return u.String(), nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return "", fmt.Errorf("the container runs but does not answer on port %s: %w", port.Port(), lastErr)
		}
	}
}

func ping(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	return errors.Join(conn.Ping(ctx), conn.Close(ctx))
}
