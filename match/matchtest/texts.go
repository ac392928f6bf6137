package matchtest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/lattice-director/director/match"
)

// stringArgs returns cases of texts, which are compared byte by byte: neither case nor normal forms of Unicode are
// folded.
func stringArgs() (cases []Case) {
	either := func(name, arg, value string, has map[string]string, held bool) {
		cases = append(cases, Case{
			"string " + name, match.Pool{Strings: []match.StringEquals{{Arg: arg, Value: value}}},
			match.Fields{Strings: has}, held,
		})
	}
	either("of no search fields", "s", "a", nil, false)
	either("equal", "s", "a", map[string]string{"r": "b", "s": "a"}, true)
	either("of another name", "s", "a", map[string]string{"r": "a"}, false)
	either("of another case", "s", "a", map[string]string{"s": "A"}, false)
	either("whose name is of another case", "s", "a", map[string]string{"S": "a"}, false)
	either("that begins alike", "s", "a", map[string]string{"s": "ab"}, false)
	either("that ends in a space", "s", "a", map[string]string{"s": "a "}, false)
	either("that is empty", "s", "", map[string]string{"s": ""}, true)
	either("that is empty, missing", "s", "", map[string]string{"r": ""}, false)
	either("that is not empty", "s", "", map[string]string{"s": "a"}, false)
	either("without a name", "", "a", map[string]string{"": "a"}, true)
	either("that a store could join to its name otherwise", "a", "b=c", map[string]string{"a=b": "c"}, false)
	either("that a store could join to its name without a break", "a", "bc", map[string]string{"ab": "c"}, false)
	either("that looks like a pattern", "s", "%", map[string]string{"s": "a"}, false)
	either("written in another way", "s", "\u00e9", map[string]string{"s": "e\u0301"}, false)
	for _, odd := range oddTexts() {
		either(odd.name, "s", odd.text, map[string]string{"s": odd.text}, true)
		either(odd.name+" as a name", odd.text, "a", map[string]string{odd.text: "a"}, true)
		either(odd.name+", a little different", "s", odd.text, map[string]string{"s": odd.text + "a"}, false)
	}
	in := map[string]string{"s": "a", "t": "b"}
	cases = append(cases,
		Case{"string and another", match.Pool{Strings: []match.StringEquals{{Arg: "s", Value: "a"},
			{Arg: "t", Value: "b"}}}, match.Fields{Strings: in}, true},
		Case{"string and another that differs",
			match.Pool{Strings: []match.StringEquals{{Arg: "s", Value: "a"}, {Arg: "t", Value: "a"}}},
			match.Fields{Strings: in}, false},
		Case{"string wanted as two", match.Pool{Strings: []match.StringEquals{{Arg: "s", Value: "a"},
			{Arg: "s", Value: "b"}}}, match.Fields{Strings: in}, false},
		Case{"string that is a double", match.Pool{Strings: []match.StringEquals{{Arg: "s", Value: "1"}}},
			match.Fields{Doubles: map[string]float64{"s": 1}}, false},
		Case{"string that is a tag", match.Pool{Strings: []match.StringEquals{{Arg: "s", Value: "s"}}},
			match.Fields{Tags: []string{"s"}}, false})
	return cases
}

// oddText is a text with what is odd about it.
type oddText struct{ name, text string }

// oddTexts returns texts that the protocol allows and that stores often handle wrongly: Postgres text cannot hold
// U+0000, and an index entry cannot be larger than a third of a page.
func oddTexts() []oddText {
	var long strings.Builder // a text that does not compress
	for sum := sha256.Sum256(nil); long.Len() < 9000; sum = sha256.Sum256(sum[:]) {
		long.WriteString(hex.EncodeToString(sum[:]))
	}
	return []oddText{
		{"holding U+0000", "a\x00b"},
		{"that is U+0000", "\x00"},
		{"ending in U+0000", "a\x00"},
		{"with quotes and commas", `{"a",'b',\c,NULL}`},
		{"NULL", "NULL"},
		{"with a newline", "a\nb"},
		{"of another script", "日本語 🎮"},
		{"with the replacement sign", "\ufffd"},
		{"at the end of all", "\U0010ffff"},
		{"longer than an index entry", long.String()},
	}
}
