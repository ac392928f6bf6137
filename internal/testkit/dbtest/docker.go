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
	start, err := toolstest.GoCommand(ctx, "run", "./internal/testkit/pgcontainer")
	if err != nil {
		return nil, err
	}
	out, err := start.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("start Postgres in Docker: %s", strings.TrimSpace(string(exit.Stderr)))
	}
	id, address, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if id != "" { // also of a container that did not answer
		if _, failed := lastwill.Leave(`docker rm -f -v "$1" >/dev/null 2>&1`, id); failed != nil {
			return nil, failed
		}
	}
	if err != nil {
		return nil, err
	}
	return newServer(address, fileCopy, false)
}
