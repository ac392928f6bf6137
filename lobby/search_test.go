package lobby

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/must"
)

func searchOf(t require.TestingT, request string) Search {
	var values map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(request), &values))
	return must.Get(ParseSearch(values))(t)
}

func listed(id string, members, most int, metadata string) Listed {
	l := Listed{ID: id, Type: "lobby", MemberCount: members, MaxMembers: most, CreatedAt: time.Unix(int64(len(id)), 0)}
	if metadata != "" {
		l.Metadata = json.RawMessage(metadata)
	}
	return l.WithDecodedValues()
}

func TestASearchSelectsRooms(t *testing.T) {
	t.Parallel()
	locked := listed("dddd", 1, 9, `{"map":"dust"}`)
	locked.IsLocked = true
	rooms := []Listed{
		listed("a", 1, 4, `{"map":"dust","skill":10}`), listed("bb", 4, 4, `{"map":"nuke","skill":20,"pro":true}`), listed("ccc", 2, 16, ""), locked,
	}
	for request, ids := range map[string]string{
		`{}`:                        "[dddd ccc bb a]",
		`{"order":"id"}`:            "[a bb ccc dddd]",
		`{"order":"members"}`:       "[bb ccc a dddd]",
		`{"order":"free"}`:          "[ccc dddd a bb]",
		`{"joinable":true}`:         "[ccc a]",
		`{"limit":1}`:               "[dddd]",
		`{"filter":{"map":"dust"}}`: "[dddd a]",
		`{"filter":{"map":["dust","nuke"]},"order":"id"}`: "[a bb dddd]",
		`{"filter":{"map":[]}}`:                           "[]",
		`{"filter":{"skill":{"min":10,"max":15}}}`:        "[a]",
		`{"filter":{"skill":{"min":11}}}`:                 "[bb]",
		`{"filter":{"pro":true}}`:                         "[bb]",
		`{"filter":{"pro":"true"}}`:                       "[]",
		`{"filter":{"map":"dust","skill":10}}`:            "[a]",
	} {
		found := []string{}
		for _, r := range searchOf(t, request).SelectRooms(rooms) {
			found = append(found, r.ID)
		}
		require.Equal(t, ids, fmt.Sprint(found), request)
	}
}

func TestASearchThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for request, field := range map[string]string{
		`{"filter":[]}`: "filter", `{"filter":{"a":{}}}`: "filter", `{"filter":{"a":{"min":"1"}}}`: "filter", `{"filter":{"a":[[]]}}`: "filter",
		`{"filter":{"a":{"least":1}}}`: "filter", `{"filter":{"a b":1}}`: "filter", `{"joinable":1}`: "joinable", `{"order":"best"}`: "order",
		`{"limit":0}`: "limit", `{"limit":201}`: "limit", `{"filter":{"a":[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7]}}`: "filter",
	} {
		var values map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(request), &values))
		_, err := ParseSearch(values)
		requireCode(t, "invalid", err)
		require.Equal(t, field, fieldOf(t, err), request)
	}
}

// The same search in other words is one: its result is computed once for all who watch it.
func TestEqualSearchesHaveOneKey(t *testing.T) {
	t.Parallel()
	require.Equal(t, searchOf(t, `{"filter":{"a":1,"b":"x"},"limit":200,"order":"newest"}`).Key, searchOf(t, `{"order":null,"filter":{"b":"x","a":1.0}}`).Key)
	require.NotEqual(t, searchOf(t, `{"filter":{"a":1}}`).Key, searchOf(t, `{"filter":{"a":"1"}}`).Key)
}

// Whoever applies the changes to a list knows the next one.
func TestChangesOfAListLeadToTheNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) (rooms []Listed) {
			for i := range 8 {
				if rapid.Bool().Draw(rt, name) {
					rooms = append(rooms, listed(fmt.Sprint(i), rapid.IntRange(0, 1).Draw(rt, "members"), 2, rapid.SampledFrom([]string{"", `{"a":1}`}).Draw(rt, "metadata")))
				}
			}
			return rooms
		}
		before, after := draw("before"), draw("after")
		changed, removed := ListChanges(before, after)
		know := map[string]Listed{}
		for _, r := range before {
			know[r.ID] = r
		}
		for _, r := range changed {
			require.False(rt, know[r.ID].isEqual(r), "a room that is the same is not sent again")
			know[r.ID] = r
		}
		for _, id := range removed {
			require.Contains(rt, know, id)
			delete(know, id)
		}
		require.Len(rt, know, len(after))
		for _, r := range after {
			require.True(rt, know[r.ID].isEqual(r))
		}
		require.True(rt, slices.IsSorted(removed))
	})
}

// FuzzSearch is what strangers search for.
func FuzzSearch(f *testing.F) {
	f.Add([]byte(`{"filter":{"a":{"min":-1e400}},"order":"id","limit":1e300}`))
	rooms := []Listed{listed("a", 1, 2, `{"a":1}`), listed("b", 2, 2, "")}
	f.Fuzz(func(t *testing.T, request []byte) {
		var values map[string]json.RawMessage
		if json.Unmarshal(request, &values) != nil {
			return
		}
		s, err := ParseSearch(values)
		if err != nil {
			requireCode(t, "invalid", err)
			return
		}
		require.LessOrEqual(t, len(s.SelectRooms(rooms)), 2)
	})
}
