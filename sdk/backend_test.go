package sdk_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

// Pins a call of a backend that goes to another route, or without its token.
func TestBackend(t *testing.T) {
	t.Parallel()
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.RequestURI + " " + r.Header.Get("Authorization") + " " + string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"changed":2,"sub":"é /a","attributes":{"skill":1500},"updated_by":"backend:studio","ticket_id":"t","state":"assigned","version":3,"party":["ada"],"teams":{"ada":"red"}}`)
	}))
	t.Cleanup(server.Close)
	client, err := sdk.New(sdk.Options{URLs: []string{server.URL}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	b := sdk.NewBackend(client, "secret")

	changed, err := b.PutPlayers(t.Context(), map[string]sdk.PlayerFacts{"ada": {Attributes: map[string]any{"skill": 1500}, Avoid: []string{"eve"}, MayPartyWith: []string{"bo"}}})
	require.NoError(t, err)
	require.Equal(t, 2, changed)
	require.Equal(t, `PUT /backend/players Bearer secret {"players":{"ada":{"attributes":{"skill":1500},"avoid":["eve"],"may_party_with":["bo"]}}}`, got)

	p, err := b.Player(t.Context(), "é /a")
	require.NoError(t, err)
	require.Equal(t, "GET /backend/players/%C3%A9%20%2Fa Bearer secret ", got)
	require.Equal(t, map[string]any{"skill": 1500.0}, p.Attributes)
	require.Equal(t, "backend:studio", p.UpdatedBy)
	require.NoError(t, b.ForgetPlayer(t.Context(), "ada"))
	require.Equal(t, "DELETE /backend/players/ada Bearer secret ", got)

	status, err := b.Queue(t.Context(), sdk.TicketRequest{Profiles: []string{"ranked"}, Party: []string{"ada"}})
	require.NoError(t, err)
	require.Equal(t, `POST /backend/tickets Bearer secret {"profiles":["ranked"],"party":["ada"]}`, got)
	require.Equal(t, map[string]string{"ada": "red"}, status.Teams)
	_, err = b.Ticket(t.Context(), "t", 3, 30*time.Second)
	require.NoError(t, err)
	require.Equal(t, "GET /backend/tickets/t?version=3&wait=30s Bearer secret ", got)
	_, err = b.Cancel(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, "DELETE /backend/tickets/t Bearer secret ", got)
}
