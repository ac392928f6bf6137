package lobby_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/nodetest"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/lobby/esjson"
)

func TestMain(m *testing.M) {
	nodetest.Prepare()
	m.Run()
}

func parse(t require.TestingT, text string) lobby.State {
	state, err := lobby.ParseState([]byte(text))
	require.NoError(t, err, text)
	return state
}

// The checksums that clients of Nexis compute, and who agrees on them.
func TestChecksums(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state, sum string
		kind       lobby.ChecksumKind
	}{
		{`{}`, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", lobby.ChecksumSafe},
		{`{"counter":0}`, "c9d8c8bbb14dfcff0a55c6d434459f7d849a55ef3b11113dd26bc544b22d18da", lobby.ChecksumSafe},
		{`{"counter":1}`, "55459e863d1c8fcdaff7ac18549f96db4495ea3a74c4d659e410cd554d65ff43", lobby.ChecksumSafe},
		{`{"9":2,"10":1,"a":3}`, "ac43de46bc6196a4be2565243663627b7f366df169441ec5be1ab0c243f154bb", lobby.ChecksumSafe},
		{`{"a":2,"B":1}`, "f4fb4f23c18557f189581b45e08078afb6b588addef57f8b1b4c80cef4a8716d", lobby.ChecksumLocal},
		{`{"a_1":1,"a1":2}`, "d9963a0c7ad2dbb9572921b1572d039e9607996b2335cbde6ee33b268e4eb268", lobby.ChecksumLocal},
	} {
		sum, kind := parse(t, c.state).Checksum()
		require.Equal(t, c.sum, sum, c.state)
		require.Equal(t, c.kind, kind, c.state)
	}
}

func TestTheWorstObjectDecidesTheKind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lobby.ChecksumKind{
		`{"é":1}`:                           lobby.ChecksumSafe, // one key has the same place in each locale
		`{"é":1,"4294967294":2,"0":3}`:      lobby.ChecksumSafe,
		`{"é":1,"4294967295":2}`:            lobby.ChecksumNone, // not an array index
		`{"a":1,"01":2}`:                    lobby.ChecksumLocal,
		`{"a":1,"-1":2}`:                    lobby.ChecksumLocal,
		`{"__proto__":1}`:                   lobby.ChecksumLocal, // the two codecs of the clients disagree
		`{"a":[{"x":{"b":1,"c":2}}]}`:       lobby.ChecksumLocal,
		`{"a":[{"x":{"b":1,"ç":2}}]}`:       lobby.ChecksumNone,
		`{"a":[{"x":{"b":1,"c\u0000":2}}]}`: lobby.ChecksumNone,
		`{"a":{"":1,"b":2}}`:                lobby.ChecksumLocal,
	} {
		sum, kind := parse(t, text).Checksum()
		require.Equal(t, want, kind, text)
		require.Equal(t, kind == lobby.ChecksumNone, sum == "", text)
	}
}

// states generates JSON objects with keys that languages sort differently.
func states(name *rapid.Generator[string]) *rapid.Generator[map[string]any] {
	number := rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Int32(), func(n int32) float64 { return float64(n) }),
		rapid.SampledFrom([]float64{math.Copysign(0, -1), 1e21, 1e-7, 5e-324, 1 << 60}))
	text := rapid.StringOf(rapid.RuneFrom([]rune("a<>&\u2028\u2029\x7f\x00\b\f\n\r\t\"\\\x1fé😀\uFFFD")))
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), number.AsAny(), text.AsAny())
	inner := rapid.OneOf(leaf, rapid.MapOfN(name, leaf, 0, 6).AsAny(),
		rapid.SliceOfN(rapid.MapOfN(name, leaf, 0, 3).AsAny(), 0, 2).AsAny())
	return rapid.MapOfN(name.Filter(func(key string) bool { return key != "" }), inner, 0, 8)
}

// asciiKeys generates keys of printable ASCII, mostly short ones of few letters, so that many are alike.
func asciiKeys() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("aAbB1_ ")), 0, 4, -1),
		rapid.StringOf(rapid.RuneFrom(nil, asciiTable)),
		rapid.SampledFrom([]string{"0", "1", "01", "10", "9", "-0", "1.5", "4294967294", "4294967295", "4294967296",
			"__proto__", "constructor", "toJSON", "length"}),
	)
}

// theirChecksum is how the SDK makes a checksum: keys by localeCompare, into a new object, then JSON.stringify.
const theirChecksum = `
	const canonical = v => {
		if (Array.isArray(v)) return v.map(canonical);
		if (!v || typeof v !== 'object') return v;
		const sorted = {};
		for (const key of Object.keys(v).sort((a, b) => a.localeCompare(b))) sorted[key] = canonical(v[key]);
		return sorted;
	};
	var answer = text => require('crypto').createHash('sha256').update(JSON.stringify(canonical(JSON.parse(text)))).digest('hex');`

func TestNodeComputesTheSameChecksums(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, theirChecksum)
	rapid.Check(t, func(t *rapid.T) {
		text := string(esjson.Append(nil, states(asciiKeys()).Draw(t, "state")))
		var theirs string
		node.Ask(t, text, &theirs)
		ours, kind := parse(t, text).Checksum()
		require.NotEqual(t, lobby.ChecksumNone, kind)
		require.Equal(t, theirs, ours, text)
	})
}

// Clients in Danish sort aa behind z, those in Estonian z before t.
func TestNodeComputesSafeChecksumsInEveryLocale(t *testing.T) {
	t.Parallel()
	danish, estonian := nodetest.Start(t, theirChecksum, "da_DK.UTF-8"), nodetest.Start(t, theirChecksum, "et_EE.UTF-8")
	keys := rapid.SampledFrom([]string{"0", "1", "10", "9", "4294967294", "aa", "z", "é", "\u0000"})
	rapid.Check(t, func(t *rapid.T) {
		text := string(esjson.Append(nil, states(keys).Draw(t, "state")))
		ours, kind := parse(t, text).Checksum()
		if kind != lobby.ChecksumSafe {
			return
		}
		for _, node := range []*nodetest.Script{danish, estonian} {
			var theirs string
			node.Ask(t, text, &theirs)
			require.Equal(t, theirs, ours, text)
		}
	})
	var theirs string
	danish.Ask(t, `{"aa":1,"z":2}`, &theirs)
	ours, kind := parse(t, `{"aa":1,"z":2}`).Checksum()
	require.Equal(t, lobby.ChecksumLocal, kind)
	require.NotEqual(t, theirs, ours, "the locale of the script has an effect")
}

// FuzzParseState checks that a state survives being written and read, has the length that it says, and does not depend
// on the order of keys.
func FuzzParseState(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":{"b":[1,-0,1e400]},"~/":"\ud800"}`, `{"":1}`, `[]`, `{"__proto__":{"a":1}}`, ` {"a" : 1.0 } `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		state, err := lobby.ParseState(text)
		if err != nil {
			return
		}
		written := state.JSON()
		require.True(t, json.Valid(written))
		require.Len(t, written, state.JSONBytes())
		again := parse(t, string(written))
		require.Equal(t, state, again)
		require.Nil(t, lobby.Diff(state, again))
		sum, kind := state.Checksum()
		sumAgain, kindAgain := again.Checksum()
		require.Equal(t, sum, sumAgain)
		require.Equal(t, kind, kindAgain)
	})
}
