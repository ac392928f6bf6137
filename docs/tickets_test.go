package docs_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/match/profile"
)

// shownTicket is a ticket of the documentation, as POST /tickets takes it.
type shownTicket struct {
	Profiles   []string
	Party      []string
	Attributes map[string]any
	Players    map[string]struct{ Attributes map[string]any }
	Latencies  map[string]uint16
}

func attributes(t *testing.T, sent map[string]any) match.Attributes {
	all := match.Attributes{}
	for name, value := range sent {
		switch v := value.(type) {
		case float64:
			all[name] = match.Value{Kind: match.Number, Number: v}
		case string:
			all[name] = match.Value{Kind: match.Text, Text: v}
		case []any:
			list := match.Value{Kind: match.List}
			for _, text := range v {
				list.List = append(list.List, text.(string))
			}
			all[name] = list
		default:
			require.Fail(t, "no attribute", "%v", value)
		}
	}
	return all
}

// ticket returns the ticket as workers see it. Each of its players has a name of its own, so that copies may be in one
// match; role is of players that say none.
func (s shownTicket) ticket(t *testing.T, id, role string) *match.Ticket {
	d := ticketbody.Draft{Profiles: s.Profiles, Attributes: attributes(t, s.Attributes), Latencies: s.Latencies}
	for _, sub := range s.Party {
		own := attributes(t, s.Players[sub].Attributes)
		if role != "" {
			own["role"] = match.Value{Kind: match.Text, Text: role}
		}
		d.Players = append(d.Players, match.Player{Sub: id + sub, Attributes: own})
	}
	at := time.Now().Add(-time.Minute)
	body := must.Get(ticketbody.Prepare(d))(t)
	return must.Get(ticketbody.Decode(id, at, body.Body(id, at), ""))(t)
}

// Pins a profile of the documentation that matches no ticket of the HTTP API, because its pool asks for what none can
// have. Copies of the documentation's ticket, some of them with the roles that the profile needs, are matched.
func TestTicketsOfTheDocumentationMatch(t *testing.T) {
	t.Parallel()
	all := pages(t)
	var shown shownTicket
	curl := regexp.MustCompile(`(?s)localhost:8080/tickets .*? -d '(\{.*?\})'`).FindStringSubmatch(all["docs/how-to/queue-players.md"])
	require.NotNil(t, curl)
	require.NoError(t, json.Unmarshal([]byte(curl[1]), &shown))
	tagOfAList := func(tag string) bool { return regexp.MustCompile(`^[^:]+:`).MatchString(tag) }
	matched := 0
	for page, text := range all {
		for _, block := range regexp.MustCompile("(?s)```yaml\n(name: .*?)```").FindAllStringSubmatch(text, -1) {
			p, err := profile.Parse([]byte(block[1]))
			require.NoError(t, err, "%s: %s", page, block[1])
			if p.Pool != nil {
				require.False(t, slices.ContainsFunc(p.Pool.Tags, func(tag string) bool { return !tagOfAList(tag) }), "%s: no ticket over HTTP has such a tag: %s", page, block[1])
			}
			if !slices.Contains(shown.Profiles, p.Name) || p.Function != nil {
				continue
			}
			require.Empty(t, explain.NeverMatches(p, shown.ticket(t, "a", "")), "%s: %s", page, block[1])
			engine := decide.New(decide.Version{Profile: p}, 0)
			engine.SetRegions([]decide.Region{{Name: "eu", Room: true}})
			alone := shown
			alone.Party = shown.Party[:1]
			for i, role := range []string{"tank", "tank", "healer", "healer"} { // a team of five: two parties of two, and one player alone
				id := strconv.Itoa(i)
				engine.Add(shown.ticket(t, "party"+id, role))
				engine.Add(alone.ticket(t, "alone"+id, role))
			}
			found, _ := engine.Run(time.Now(), 1<<20)
			require.NotEmpty(t, found, "%s: %s", page, block[1])
			matched++
		}
	}
	require.NotZero(t, matched)
}
