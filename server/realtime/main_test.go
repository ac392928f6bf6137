package realtime

import (
	"testing"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/internal/nodetest"
)

func TestMain(m *testing.M) {
	nodetest.Prepare()
	dbtest.VerifyNoLeaks(m)
}
