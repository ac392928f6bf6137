package sdk_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

// Lists have growing numbers, and the clients to disconnect come back.
func TestReportClients(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		w.inject(on("/fleet/clients", func(exchange, func() *http.Response) (*http.Response, error) {
			return respond(http.StatusOK, "application/json",
				`{"instance_id":"arena-1","applied":true,"refused":[{"client_id":"9223372036854775807","result":"replay"}]}`)
		}))
		for range 2 {
			refused, err := s.ReportClients(t.Context(), []uint64{7, 1<<63 - 1})
			require.NoError(t, err)
			require.Equal(t, []sdk.RefusedClient{{ClientID: 1<<63 - 1, Result: "replay"}}, refused)
		}
		_, err := s.ReportClients(t.Context(), nil)
		require.NoError(t, err)
		for i, sent := range w.to("/fleet/clients") {
			var body struct {
				Seq         int      `json:"seq"`
				Incarnation string   `json:"incarnation"`
				Clients     []string `json:"clients"`
			}
			require.NoError(t, json.Unmarshal([]byte(sent.body), &body))
			require.Equal(t, i+1, body.Seq)
			require.NotEmpty(t, body.Incarnation)
			require.NotNil(t, body.Clients, "an empty list is sent as a list")
		}
	})
}

// A ticket with a connect token decodes, and prints without it.
func TestNetcodeTickets(t *testing.T) {
	t.Parallel()
	raw := strings.Repeat("\xfb\xff", 1024)
	var ticket sdk.Ticket
	require.NoError(t, json.Unmarshal([]byte(`{"netcode":{"token":"`+base64.StdEncoding.EncodeToString([]byte(raw))+
		`","client_id":"9223372036854775807","dialect":"lightyear-be","ip":"2001:db8::7","port":31504,"cert_digest":null,"expires_at":"2026-11-23T16:00:45Z"}}`), &ticket))
	require.Equal(t, &sdk.Netcode{
		Token: []byte(raw), ClientID: 1<<63 - 1, Dialect: "lightyear-be", IP: netip.MustParseAddr("2001:db8::7"), Port: 31504,
		ExpiresAt: time.Date(2026, 11, 23, 16, 0, 45, 0, time.UTC),
	}, ticket.Netcode)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		printed := fmt.Sprintf(verb, ticket)
		require.NotContains(t, printed, "251", verb)
		require.NotContains(t, printed, "fbff", verb)
	}
}
