package ticketbody_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

// Pins a history of which a replay would make other tickets than those that were decided about.
func TestATicketComesBackFromItsFacts(t *testing.T) {
	t.Parallel()
	shared := match.Attributes{"maps": {Kind: match.List, List: []string{"dust", "aim:2"}}, "platform": {Kind: match.Text, Text: "pc"}}
	body, err := ticketbody.Encode("id", at, ticketbody.Draft{
		Profiles: []string{"duel"}, Attributes: shared, Latencies: map[string]uint16{"eu": 20},
		Players: []match.Player{{Sub: "ada", Attributes: match.Attributes{"skill": {Kind: match.Number, Number: 7.25}}}, {Sub: "bo"}},
	})
	require.NoError(t, err)
	was, err := ticketbody.Decode("id", at, body, "")
	require.NoError(t, err)
	was.Fields.Tags = append(was.Fields.Tags, "ranked")
	attributes, latencies := ticketbody.Facts(was)
	is, err := ticketbody.FromFacts(match.Ticket{ID: was.ID, Created: was.Created, Profiles: was.Profiles}, attributes, latencies)
	require.NoError(t, err)
	require.Equal(t, []string{"maps:dust", "maps:aim:2", "ranked"}, is.Fields.Tags)
	require.Equal(t, map[string]string{"platform": "pc"}, is.Fields.Strings)
	is.Fields = was.Fields
	for i := range was.Players {
		was.Players[i].Source = match.FromBackend // a replay trusts the history
	}
	require.Equal(t, was, is)

	_, err = ticketbody.FromFacts(match.Ticket{ID: "id"}, []byte("[]"), nil)
	require.ErrorContains(t, err, "the attributes of ticket id")
}
