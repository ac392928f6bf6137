package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/lattice-director/director/internal/dev/lastwill"
	"github.com/lattice-director/director/internal/testkit/toolstest"
)

// startContainer starts a Postgres in Docker that the tests of this process share.
func startContainer(ctx context.Context) (*server, error) {
	id, address, startErr := runContainer(ctx)
	// Also a container that does not answer is removed when this process ends.
	if id != "" {
		if _, err := lastwill.Leave(`docker rm -f -v "$1" >/dev/null 2>&1`, id); err != nil {
			return nil, err
		}
	}
	if startErr != nil {
		return nil, startErr
	}
	return newPrivateServer(address)
}

// runContainer runs pgcontainer. With an error, it returns the id of a container that runs but does not answer, or "".
func runContainer(ctx context.Context) (id, address string, err error) {
	start, err := toolstest.GoCommand(ctx, "run", "./internal/testkit/pgcontainer")
	if err != nil {
		return "", "", err
	}
	out, err := start.Output()
	id, address, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return id, "", fmt.Errorf("start Postgres in Docker: %s", strings.TrimSpace(string(exit.Stderr)))
	}
	return id, address, err
}
