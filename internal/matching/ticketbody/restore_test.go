package ticketbody_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
)

// Pins players who wait again with attributes of others, or with ones for which suddenly somebody vouches.
func TestATicketIsMadeAgainFromItsFacts(t *testing.T) {
	t.Parallel()
	number := func(n float64) match.Value { return match.Value{Kind: match.Number, Number: n} }
	draft := ticketbody.Draft{
		Profiles:   []string{"duel", "squad"},
		Tags:       []string{"ranked"},
		Attributes: match.Attributes{"maps": {Kind: match.List, List: []string{"dust", "aim"}}, "rank": number(4)},
		Latencies:  map[string]uint16{"eu": 20, "us": 90},
		Players: []match.Player{
			{Sub: "ada", Attributes: match.Attributes{"skill": number(7.5)},
				Sources: map[string]match.Source{"skill": match.FromClaim, "rank": match.FromBackend}},
			{Sub: "bo", Attributes: match.Attributes{"skill": number(9)}},
		},
	}
	attributes, latencies := ticketbody.Facts(decoded(t, draft))
	again, err := ticketbody.DraftOfFacts(draft.Profiles, []string{"ada", "bo"}, attributes, latencies)
	require.NoError(t, err)
	require.Equal(t, decoded(t, draft), decoded(t, again))

	alone, err := ticketbody.DraftOfFacts(draft.Profiles, []string{"bo"}, attributes, latencies)
	require.NoError(t, err)
	draft.Players = draft.Players[1:]
	require.Equal(t, decoded(t, draft), decoded(t, alone))

	_, err = ticketbody.DraftOfFacts(draft.Profiles, []string{"bo", "cy"}, attributes, latencies)
	require.ErrorContains(t, err, "does not have the player")
	_, err = ticketbody.DraftOfFacts(draft.Profiles, []string{"bo"}, nil, nil)
	require.Error(t, err)
	_, err = ticketbody.DraftOfFacts(draft.Profiles, []string{"bo"}, []byte(`{"": {"sources": 7}, "bo": {}}`), nil)
	require.Error(t, err)
}

func decoded(t *testing.T, d ticketbody.Draft) *match.Ticket {
	t.Helper()
	body := must.Get(ticketbody.Encode("id", at, d))(t)
	return must.Get(ticketbody.Decode("id", at, body, ""))(t)
}
