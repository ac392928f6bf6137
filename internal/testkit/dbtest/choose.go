package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/lattice-director/director/internal/dev/pglocal"
)

// theServer is chosen by the first test that needs it.
var theServer = sync.OnceValues(func() (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return chooseServer(ctx)
})

func serverFor(t testing.TB) *server {
	t.Helper()
	s, err := theServer()
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	return s
}

// chooseServer finds a server as the package comment says.
func chooseServer(ctx context.Context) (*server, error) {
	address := os.Getenv("TEST_DATABASE_URL")
	switch wanted := os.Getenv("DIRECTOR_TEST_PG"); {
	case wanted == "url" && address == "":
		return nil, errors.New("DIRECTOR_TEST_PG=url needs TEST_DATABASE_URL")
	case wanted == "url", wanted == "" && address != "":
		return newSharedServer(address)
	case wanted == "local":
		return startLocal(ctx)
	case wanted == "docker":
		return startContainer(ctx)
	case wanted != "":
		return nil, fmt.Errorf("DIRECTOR_TEST_PG is url, local or docker, not %q", wanted)
	}
	local, err := startLocal(ctx)
	// That an installed Postgres does not start is an error, which a container would hide.
	if !errors.Is(err, pglocal.ErrNotInstalled) {
		return local, err
	}
	container, noDocker := startContainer(ctx)
	if noDocker != nil {
		return nil, fmt.Errorf("the tests need a Postgres. Run ops/install-postgres.sh, or start Docker, or set "+
			"TEST_DATABASE_URL.\n  local: %w\n  docker: %w", err, noDocker)
	}
	return container, nil
}
