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

var (
	built   string // the directory of the director's binary; "" until a test needs it
	compile = sync.OnceValue(func() (err error) {
		if built, err = os.MkdirTemp("", "director-test-"); err != nil {
			return err
		}
		build, err := toolstest.GoCommand(context.Background(), "build", "-o", director(), "./cmd/director")
		if err != nil {
			return err
		}
		out, err := build.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
)

func director() string { return filepath.Join(built, "director") }

// BuildDirector compiles the director, once in a test process, and returns the path of the binary. TestMain removes it
// with RemoveDirector.
func BuildDirector(t testing.TB) string {
	t.Helper()
	if err := compile(); err != nil {
		t.Fatalf("clitest: %v", err)
	}
	return director()
}

// RemoveDirector removes what BuildDirector made. Call it when all tests have ended.
func RemoveDirector() {
	if built != "" {
		_ = os.RemoveAll(built)
	}
}
