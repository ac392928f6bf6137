package bevygap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
)

// Pins a provider without capacity for five seconds, whose answer ended the requests of all who could wait for a
// minute.
func TestAPauseThatIsOverInTimeEndsNoRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.change(func() {
		b.outlook = fault.Outlook{Region: "eu", Mode: "duel", PausedUntil: time.Now().Add(5 * time.Second)}
	})
	c := b.ask("")
	requireFrame(t, `"Acknowledged"`, c.read())
	require.Contains(t, c.read(), "SessionRequestAccepted")
	requireFrame(t, `{"ProgressReport":"no server can be started now: waiting for the next try"}`, c.read())
	b.open(1)
	c.expect(readyFrame)
}
