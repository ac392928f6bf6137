package browser

import (
	"os"
	"testing"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/chromiumtest"
)

func TestMain(m *testing.M) {
	chromiumtest.Prepare()
	code := m.Run()
	clitest.RemoveDirector()
	os.Exit(code)
}
