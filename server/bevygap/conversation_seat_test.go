package bevygap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
)

// Pins a client that names no region, and waits in one that another cell serves.
func TestARegionOfAnotherCell(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) {
		o.CheckHere = func(region string) error {
			if region != "eu" {
				return nil
			}
			return fault.NewElsewhere(&fault.Cell{Name: "europe", Region: "eu",
				Addresses: map[string]string{fault.ListenerAPI: "https://eu.example"}})
		}
	})
	for _, query := range []string{"", "?region=eu"} {
		b.ask(query).expect(`"Acknowledged"`,
			`{"Error":[421,"region \"eu\" is served by cell \"europe\", at https://eu.example"]}`)
	}
	require.Zero(t, b.face.waitingRoom.Waiting())
}
