package matchtest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/lattice-director/director/match"
)

// stringCases returns cases about strings, which are compared byte by byte: neither case nor normal forms of Unicode
// are folded.
func stringCases() (cases []Case) {
	add := func(name, arg, value string, has map[string]string, isHeld bool) {
		cases = append(cases, Case{
			"string " + name, match.Pool{Strings: []match.StringEquals{{Arg: arg, Value: value}}},
			match.Fields{Strings: has}, isHeld,
		})
	}
	add("of no search fields", "s", "a", nil, false)
	add("equal", "s", "a", map[string]string{"r": "b", "s": "a"}, true)
	add("of another name", "s", "a", map[string]string{"r": "a"}, false)
	add("of another case", "s", "a", map[string]string{"s": "A"}, false)
	add("whose name is of another case", "s", "a", map[string]string{"S": "a"}, false)
	add("that begins alike", "s", "a", map[string]string{"s": "ab"}, false)
	add("that ends in a space", "s", "a", map[string]string{"s": "a "}, false)
	add("that is empty", "s", "", map[string]string{"s": ""}, true)
	add("that is empty, missing", "s", "", map[string]string{"r": ""}, false)
	add("that is not empty", "s", "", map[string]string{"s": "a"}, false)
	add("without a name", "", "a", map[string]string{"": "a"}, true)
	add("that a store could join to its name otherwise", "a", "b=c", map[string]string{"a=b": "c"}, false)
	add("that a store could join to its name without a break", "a", "bc", map[string]string{"ab": "c"}, false)
	add("that looks like a pattern", "s", "%", map[string]string{"s": "a"}, false)
	add("written in another way", "s", "\u00e9", map[string]string{"s": "e\u0301"}, false)
	for _, odd := range oddTexts() {
		add(odd.name, "s", odd.text, map[string]string{"s": odd.text}, true)
		add(odd.name+" as a name", odd.text, "a", map[string]string{odd.text: "a"}, true)
		add(odd.name+", a little different", "s", odd.text, map[string]string{"s": odd.text + "a"}, false)
	}
	two := map[string]string{"s": "a", "t": "b"}
	cases = append(cases,
		Case{"string and another", match.Pool{Strings: []match.StringEquals{{Arg: "s", Value: "a"},
			{Arg: "t", Value: "b"}}}, match.Fields{Strings: two}, true},
		Case{"string and another that differs",
			match.Pool{Strings: []match.StringEquals{{Arg: "s", Value: "a"}, {Arg: "t", Value: "a"}}},
			match.Fields{Strings: two}, false},
		Case{"string wanted as two", match.Pool{Strings: []match.StringEquals{{Arg: "s", Value: "a"},
			{Arg: "s", Value: "b"}}}, match.Fields{Strings: two}, false},
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

// tagCases returns cases about tags, which are compared as texts are.
func tagCases() (cases []Case) {
	add := func(name string, has []string, isHeld bool, want ...string) {
		cases = append(cases, Case{"tag " + name, match.Pool{Tags: want}, match.Fields{Tags: has}, isHeld})
	}
	add("of no search fields", nil, false, "a")
	add("present", []string{"b", "a"}, true, "a")
	add("present twice", []string{"a", "a"}, true, "a")
	add("wanted twice", []string{"a"}, true, "a", "a")
	add("of another case", []string{"A"}, false, "a")
	add("that begins alike", []string{"ab"}, false, "a")
	add("that is empty", []string{""}, true, "")
	add("that is empty, missing", []string{"a"}, false, "")
	add("of two, both present", []string{"a", "b", "c"}, true, "c", "a")
	add("of two, one present", []string{"a"}, false, "a", "b")
	for _, odd := range oddTexts() {
		add(odd.name, []string{"a", odd.text}, true, odd.text)
		add(odd.name+", missing", []string{"a"}, false, odd.text)
	}
	cases = append(cases,
		Case{"tag that is the name of a double", match.Pool{Tags: []string{"x"}},
			match.Fields{Doubles: map[string]float64{"x": 1}}, false},
		Case{"tag that is a string", match.Pool{Tags: []string{"x"}},
			match.Fields{Strings: map[string]string{"x": "x"}}, false})
	return cases
}
