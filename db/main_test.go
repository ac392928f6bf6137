package db_test

import (
	"os"
	"testing"

	"github.com/lattice-director/director/internal/testkit/longtest"
)

func TestMain(m *testing.M) {
	longtest.LimitRapid(25)
	os.Exit(m.Run())
}
