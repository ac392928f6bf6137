package upgrade

import (
	"os"
	"testing"

	"github.com/lattice-director/director/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	clitest.RemoveDirector()
	os.Exit(code)
}
