package sdk_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

// Pins players of a lost region who ask for a match anew although they have a place in the queue, or a seat.
func TestReconnect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		moved, ticket string
		want          error
	}{
		"where nothing was evacuated":        {moved: "", want: nil},
		"to the seat elsewhere":              {moved: `, "session_handle": "us.h2"`},
		"to the match of the next ticket":    {moved: `, "ticket_id": "t1"`, ticket: `{"ticket_id":"t1","state":"assigned","version":2,"session_handle":"us.h2"}`},
		"with a ticket that found no match":  {moved: `, "ticket_id": "t1"`, ticket: `{"ticket_id":"t1","state":"expired","version":2}`, want: sdk.ErrGone},
		"with a session that has just ended": {moved: `, "code": "session_closed"`, want: sdk.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, w *wire) {
				w.inject(func(x exchange, _ func() *http.Response) (*http.Response, error) {
					switch {
					case x.path == "/tickets/t1":
						return respond(http.StatusOK, "application/json", c.ticket)
					case c.moved != "" && strings.Contains(x.body, "eu.h1"):
						return respond(http.StatusGone, "application/json",
							`{"code": "session_closed", "detail": "on purpose"`+c.moved+`}`)
					}
					return respond(http.StatusOK, "application/json",
						`{"endpoint": "203.0.113.9:7777", "session_token": "token", "session_id": "us.s2"}`)
				})
				ticket, err := w.player("alice").Reconnect(t.Context(), "eu.h1")
				require.ErrorIs(t, err, c.want)
				if c.want == nil {
					require.Equal(t, "us.s2", ticket.SessionID)
				}
			})
		})
	}
}
