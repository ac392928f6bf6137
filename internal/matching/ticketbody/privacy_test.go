package ticketbody_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

// Pins a history that names players although the operator asked for hashes.
func TestPrivacy(t *testing.T) {
	t.Parallel()
	ticket := &match.Ticket{
		Players: []match.Player{{Sub: "ada", Attributes: match.Attributes{
			"clan": {Kind: match.Text, Text: "blue"}, "maps": {Kind: match.List, List: []string{"dust", "blue"}}, "skill": {Kind: match.Number, Number: 1500},
		}}},
		Fields:    match.Fields{Tags: []string{"ranked"}},
		Latencies: map[string]uint16{"eu": 20},
	}
	// of SHA-256
	const ada, blue, dust, skill = "fdee430d40bd57de", "16477688c0e00699", "abb32701117d50a9", "9f69998560dcfd80"
	for privacy, want := range map[ticketbody.Privacy][3]string{
		ticketbody.Plain:        {"ada", `{"":{"tags":["ranked"]},"ada":{"clan":"blue","maps":["dust","blue"],"skill":1500}}`, `{"eu":20}`},
		ticketbody.Hashed:       {ada, `{"":{"tags":["ranked"]},"` + ada + `":{"clan":"` + blue + `","maps":["` + dust + `","` + blue + `"],"skill":"` + skill + `"}}`, `{"eu":20}`},
		ticketbody.NoAttributes: {ada, "", ""},
	} {
		attributes, latencies := privacy.Facts(ticket)
		require.Equal(t, want, [3]string{privacy.Party([]string{"ada"})[0], string(attributes), string(latencies)})
	}
	require.Equal(t, "ada", ticket.Players[0].Sub)
}
