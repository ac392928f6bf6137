package esjson_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/nodetest"
	"github.com/lattice-director/director/lobby/esjson"
)

func TestMain(m *testing.M) {
	nodetest.Prepare()
	m.Run()
}

// values generates JSON values with the strings and numbers that encoders disagree about.
func values() *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("<>&\u2028\u2029\x7f\x00\b\f\n\r\t\"\\\x1fé😀\uFFFD/"))))
	number := rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Int64(), func(n int64) float64 { return float64(n) }),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e21, 1e-7, 1e-6, 999999999999999868928, 5e-324,
			math.MaxFloat64, 1 << 53}))
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), number.AsAny(), text.AsAny())
	return rapid.OneOf(leaf, rapid.SliceOfN(leaf, 0, 4).AsAny(), rapid.MapOfN(text, leaf, 0, 4).AsAny())
}

func TestNodeStringifiesAsAppendDoes(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, `
		const sorted = v => v && typeof v === 'object' && !Array.isArray(v)
			? '{' + Object.keys(v).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map(k => JSON.stringify(k) + ':' + sorted(v[k])).join() + '}'
			: Array.isArray(v) ? '[' + v.map(sorted).join() + ']' : JSON.stringify(v);
		var answer = text => sorted(JSON.parse(text));`)
	rapid.Check(t, func(t *rapid.T) {
		value := values().Draw(t, "value")
		text, err := json.Marshal(value)
		require.NoError(t, err)
		var theirs string
		node.Ask(t, string(text), &theirs)
		require.Equal(t, theirs, string(esjson.Append(nil, value)))
	})
}

func TestParseReadsWhatAppendWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := values().Draw(t, "value")
		got, err := esjson.ParseText(esjson.Append(nil, value))
		require.NoError(t, err)
		require.Equal(t, value, got)
	})
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		`0`:                              math.Copysign(0, -1),
		`1e+21`:                          1e21,
		`1e-7`:                           1e-7,
		`1.5e-10`:                        1.5e-10,
		`0.000001`:                       1e-6,
		`100000000000000000000`:          1e20,
		`null`:                           math.NaN(),
		`-5`:                             -5,
		`9007199254740993`:               int64(9007199254740993),
		"\"<&\u2028\x7f\\u001f\\b\\\"\"": "<&\u2028\x7f\x1f\b\"",
		"\"a\uFFFDb\"":                   "a\xffb",
		`["a"]`:                          []string{"a"},
		`{"a":[1e2],"b":null}`:           map[string]json.RawMessage{"b": nil, "a": json.RawMessage(`[1e2]`)},
		`{"x":"<"}`: struct {
			X string `json:"x"`
		}{"<"},
	} {
		if raw, is := value.(map[string]json.RawMessage); is {
			require.Equal(t, want, string(esjson.AppendObject(nil, raw)))
			continue
		}
		require.Equal(t, want, string(esjson.Append(nil, value)))
	}
}

func TestParseReadsWhatGoRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`[1e400,-1e400,1]`: []any{nil, nil, 1.0},
		`"\ud800x"`:        "\uFFFDx",
		`{"a":1,"a":2}`:    map[string]any{"a": 2.0},
		`{"__proto__":1}`:  map[string]any{"__proto__": 1.0},
	} {
		got, err := esjson.ParseText([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{``, `{`, `1 2`, `NaN`, `'a'`} {
		_, err := esjson.ParseText([]byte(text))
		require.Error(t, err, text)
	}
}

// FuzzParse checks that whatever is JSON stays the same value when it is written and read again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0,1e21,"\u2028\ud800"]}`, `1e400`, `"` + "\xff" + `"`, `{"a":{"a":{}}}`, `{"":null,"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := esjson.ParseText(text)
		require.Equal(t, json.Valid(text), err == nil)
		if err != nil {
			return
		}
		written := esjson.Append(nil, value)
		again, err := esjson.ParseText(written)
		require.NoError(t, err)
		require.Equal(t, string(written), string(esjson.Append(nil, again)))
	})
}
