package wire

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	s := Snapshot{
		Name: "n", ProcessUID: "p", AgentVersion: "v", ProtocolVersion: 3, EndpointURL: "ws://x?a=1&b=<2>",
		MaxRooms: new(int32(-1)),
		Labels:   map[string]string{"\uFFFD": "1", "𝔸": "2", "b": "3", "B": "4"}, RoomTypes: []string{"x", "y"},
		Rooms: []Room{{"a", "x", 1, Local}, {"b", "y", 2, Fleet}}, Status: Active,
	}
	want := `{"agentVersion":"v","autoCreate":false,"capacity":{"maxConnections":null,"maxRooms":-1},"endpointUrl":"ws://x?a=1&b=<2>",` +
		`"labels":{"B":"4","b":"3","𝔸":"2","` + "\uFFFD" + `":"1"},"name":"n","processUid":"p","protocolVersion":3,"roomTypes":["x","y"],` +
		`"rooms":[{"connections":1,"id":"a","origin":"local","type":"x"},{"connections":2,"id":"b","origin":"fleet","type":"y"}],"status":"active"}`
	require.Equal(t, []byte(want), s.canonicalJSON())
}

// As Node's JSON.stringify writes them.
func TestStringsOfCanonicalJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\"\\/\b\f\n\r\t":                        `"\"\\/\b\f\n\r\t"`,
		"\x00\x1f\x7f":                           `"\u0000\u001f` + "\x7f\"",
		"ü€𝔸\u2028<>&":                           "\"ü€𝔸\u2028<>&\"",
		"\xed\xa0\xb5":                           `"\ud835"`, // high surrogate alone
		"\xed\xb4\xb8x":                          `"\udd38x"`,
		"\xed\xb4\xb8\xed\xa0\xb5":               `"\udd38\ud835"`,
		"\xed\xa0\xb5\xed\xb4\xb8":               `"𝔸"`, // two halves make a character
		"\xff" + strings.Repeat("a", 3) + "\xe2": "\"\uFFFDaaa\uFFFD\"",
	} {
		require.Equal(t, want, string(appendString(nil, text)), "%q", text)
	}
}

func TestTextsAreOrderedByUTF16(t *testing.T) {
	t.Parallel()
	texts := []string{"", "A", "a", "aa", "é", "\u2028", "\xed\xa0\x80", "𐀀", "\U0010FFFF", "\xed\xbf\xbf", "\uE000",
		"\uFFFD"}
	require.True(t, slices.IsSortedFunc(texts, CompareTexts))
	require.Negative(t, CompareTexts("𐀀", "\uE000"))
	require.Greater(t, "𐀀", "\uE000", "bytes are ordered otherwise")
}

// FuzzCanonicalString checks that the JSON of any text is UTF-8.
func FuzzCanonicalString(f *testing.F) {
	f.Add("a\"\x00\xed\xa0\x80𝔸")
	f.Fuzz(func(t *testing.T, text string) {
		require.True(t, utf8.Valid(appendString(nil, text)))
	})
}
