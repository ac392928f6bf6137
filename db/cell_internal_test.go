package db

import (
	"testing"

	"github.com/lattice-director/director/internal/base/fault"
)

// Without cells a check reads one pointer.
func BenchmarkCheckHere(b *testing.B) {
	s := &Store{}
	check := func(b *testing.B) {
		for b.Loop() {
			_ = s.CheckHere("eu")
		}
	}
	b.Run("no cells", check)
	s.otherCells.Store(&cellsByRegion{"us-east": &fault.Cell{}, "us-west": &fault.Cell{}})
	b.Run("other cells", check)
}
