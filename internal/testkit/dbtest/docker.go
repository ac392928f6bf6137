package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/internal/dev/lastwill"
	"github.com/lattice-director/director/internal/dev/pglocal"
)

const image = "postgres:17-alpine"

// startContainer starts a Postgres in Docker that the tests of this process share. It runs Docker's command line, which knows
// contexts and credentials; its library would be linked into the tests of each package.
func startContainer(ctx context.Context) (*server, error) {
	password := rand.Text()
	id, err := docker(ctx, append([]string{
		"run", "--detach", "--rm", "--publish", "5432", "--env", "POSTGRES_PASSWORD=" + password,
		"--tmpfs", "/var/lib/postgresql/data", image,
	}, command()...)...)
	if err != nil {
		return nil, err
	}
	if _, err := lastwill.Leave(`docker rm -f -v "$1" >/dev/null 2>&1`, id); err != nil {
		return nil, err
	}
	address, err := reach(ctx, id, password)
	if err != nil {
		return nil, err
	}
	return newServer(address, fileCopy, false)
}

// docker runs a command of Docker's command line, and returns the last line that it prints.
func docker(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], err
}

func command() []string {
	args := []string{"postgres"}
	settings := pglocal.ThrowawaySettings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// reach finds the address under which the container answers, and waits until it does: on this machine, on that of the daemon, or
// beside these tests, which may run in a container, too. While it is set up, the server listens on no address.
func reach(ctx context.Context, id, password string) (string, error) {
	mapped, err := docker(ctx, "port", id, "5432/tcp")
	if err != nil {
		return "", err
	}
	port := mapped[strings.LastIndex(mapped, ":")+1:]
	for {
		for _, host := range dockerHosts() {
			u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password),
				Host: net.JoinHostPort(host, port), Path: "/postgres", RawQuery: "sslmode=disable"}
			if err = ping(ctx, u.String()); err == nil {
				return u.String(), nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return "", fmt.Errorf("the container runs but does not answer on port %s: %w", port, err)
		}
	}
}

// dockerHosts are where a published port may be.
func dockerHosts() []string {
	hosts := []string{"127.0.0.1", "host.docker.internal"}
	if daemon, err := url.Parse(os.Getenv("DOCKER_HOST")); err == nil && daemon.Hostname() != "" {
		hosts = append([]string{daemon.Hostname()}, hosts...)
	}
	return hosts
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
