package realtime

import (
	"testing"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/nodetest"
)

func TestMain(m *testing.M) {
	nodetest.Prepare()
	dbtest.VerifyNoLeaks(m)
}
