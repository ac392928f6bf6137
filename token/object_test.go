package token

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/must"
)

// anyMember accepts any value once.
type anyMember struct {
	json string
	set  bool
}

func (k *anyMember) readValue(json string) bool {
	if k.set {
		return false
	}
	k.json, k.set = json, true
	return true
}

// readObject finds the members that encoding/json finds, for any white space, nesting and escapes.
func TestReadObjectAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		space := rapid.SampledFrom([]string{"", " ", "\n", "\t\r\n "})
		value := rapid.SampledFrom([]string{
			`""`, `"a\"}{"`, `"\\"`, `"é\u0000"`, "0", "-1.5e+3", "true", "null", "[]", `[1,{"a":"]}"},[" "]]`, "{}", `{ "x" : {"y":[ ]} }`,
		})
		names := rapid.SliceOfNDistinct(rapid.String(), 0, 5, rapid.ID).Draw(t, "names")
		text := space.Draw(t, "s") + "{" + space.Draw(t, "s")
		for i, name := range names {
			quoted := must.Get(json.Marshal(name))(t)
			if i > 0 {
				text += "," + space.Draw(t, "s")
			}
			text += string(quoted) + space.Draw(t, "s") + ":" + space.Draw(t, "s") + value.Draw(t, "value") +
				space.Draw(t, "s")
		}
		object := text + "}" + space.Draw(t, "s")
		var want map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(object), &want), object)
		got := map[string]*anyMember{}
		err := readObject([]byte(object), func(name string) member {
			require.NotContains(t, got, name)
			got[name] = &anyMember{}
			return got[name]
		})
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for name, value := range want {
			require.Equal(t, string(value), got[name].json)
		}
	})
}

func TestReadObjectRefuses(t *testing.T) {
	t.Parallel()
	sub := func(raw string) (text, error) {
		var r registered
		err := readObject([]byte(raw), r.memberReader)
		return r.subject, err
	}
	for _, raw := range []string{"", " ", "{", "[]", "null", `"sub"`, "1", `{"sub":"a"}x`, `{"sub":"a",}`, `{sub:"a"}`, "{\"sub\":\"a\xff\"}"} {
		_, err := sub(raw)
		require.ErrorIs(t, err, Malformed, raw)
	}
	for _, raw := range []string{
		`{"sub":"a","sub":"b"}`, `{"sub":"a","sub":"a"}`, `{"sub":"a","\u0073ub":"b"}`, // repeated, in any spelling
		`{"sub":1}`, `{"sub":null}`, `{"sub":["a"]}`, `{"sub":{}}`,
	} {
		_, err := sub(raw)
		require.ErrorIs(t, err, BadClaim, raw)
	}
	got, err := sub(`{"SUB":"mallory","Sub":1,"sub":"alice","sub ":"eve"}`)
	require.NoError(t, err)
	require.Equal(t, "alice", got.stringValue, "names are compared exactly")
	got, err = sub(`{"\u0073ub":"al\u0069ce"}`)
	require.NoError(t, err)
	require.Equal(t, "alice", got.stringValue)
}

func TestDate(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int64{"0": 0, "1700000000": 1700000000, "1700000000.9": 1700000000,
		"1.7e9": 1700000000, "253402300799": lastDate} {
		var d date
		require.True(t, d.readValue(raw), raw)
		require.Equal(t, want, d.unixSeconds)
		require.False(t, d.readValue(raw), "twice")
	}
	for _, raw := range []string{"-1", "253402300800", "1e400", "-1e400", `"1700000000"`, "null", "true", "[1]", "{}"} {
		var d date
		require.False(t, d.readValue(raw), raw)
	}
}

func TestAudience(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{`"a"`: true, `["a"]`: true, `["b","a"]`: true, `"b"`: false, `[]`: false, `["A"]`: false, `"a,b"`: false} {
		var a audience
		require.True(t, a.readValue(raw), raw)
		require.Equal(t, want, a.holdsName("a"), raw)
		require.False(t, a.readValue(raw), "twice")
	}
	for _, raw := range []string{"1", "null", `["a",null]`, `["a",1]`, `[["a"]]`, `{"a":1}`} {
		var a audience
		require.False(t, a.readValue(raw), raw)
	}
}
