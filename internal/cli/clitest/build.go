package clitest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lattice-director/director/internal/testkit/toolstest"
)

// builtBefore names the director's binary, if whoever started the tests has built it: `make test` builds it once for
// all test processes.
const builtBefore = "DIRECTOR_TEST_BINARY"

var (
	buildDir string // of the director's binary; "" until a test needs one that was not built before
	compile  = sync.OnceValues(func() (binary string, err error) {
		if binary = os.Getenv(builtBefore); binary != "" { //nolint:forbidigo // whoever starts the tests says it
			return binary, nil
		}
		if buildDir, err = os.MkdirTemp("", "director-build-"); err != nil {
			return "", err
		}
		binary = filepath.Join(buildDir, "director")
		build, err := toolstest.GoCommand(context.Background(), "build", "-o", binary, "./cmd/director")
		if err != nil {
			return "", err
		}
		out, err := build.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		return binary, nil
	})
)

// BuildDirector compiles the director, once in a test process or before it, and returns the path of the binary.
// TestMain removes it with RemoveDirector.
func BuildDirector(t testing.TB) string {
	t.Helper()
	binary, err := compile()
	if err != nil {
		t.Fatalf("clitest: %v", err)
	}
	return binary
}

// RemoveDirector removes what BuildDirector made. Call it when all tests have ended.
func RemoveDirector() {
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
}
