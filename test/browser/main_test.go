package browser

import (
	"os"
	"testing"

	"github.com/lattice-director/director/internal/chromiumtest"
	"github.com/lattice-director/director/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	chromiumtest.Prepare()
	code := m.Run()
	clitest.RemoveDirector()
	os.Exit(code)
}
