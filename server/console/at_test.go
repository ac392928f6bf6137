package console

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a page that shows what is true now for a time of the past, or fails for one of which nothing is known.
func TestThePastIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	seat := b.place("duel", "anna")
	_, err := b.rotate(t.Context(), b.As(""), "")
	require.NoError(t, err)
	then := storetest.One[time.Time](b.DB, "SELECT clock_timestamp()").UTC().Format(time.RFC3339Nano)
	require.NoError(t, b.As("").CloseSession(t.Context(), seat.SessionID, "over"))
	w := b.as(ivyToken)
	at := func(what string) string { return "/at?what=" + what + "&time=" + url.QueryEscape(then) }
	w.contains(at("fleet"), "eu-1", "4 of 8", "ready")
	w.contains(at("sessions"), sessionPath(seat.SessionID), "1 of 4")
	w.contains(at("seats"), playerPath("anna"), "reserved")
	w.contains(at("keys"), "signing", "next")
	require.NotContains(t, w.get("/at?what=seats&time=0s").Body, "anna", "the session is over")
	w.contains("/at?time=2000-01-01T00:00", "what was true of fleet at 2000-01-01T00:00:00Z is not known: the oldest time that is, is 20")
	w.contains("/at?time=yesterday", "is no time")
	w.contains("/at", "The oldest times that are known: fleet")
}
