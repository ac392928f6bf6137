package wire

import (
	"os"
	"testing"

	"github.com/lattice-director/director/internal/testkit/nodetest"
)

func TestMain(m *testing.M) {
	nodetest.Prepare()
	os.Exit(m.Run())
}
