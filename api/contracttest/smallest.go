package contracttest

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// smallestValue returns the smallest value that the schema accepts, with the required fields only; of an enum the first
// value, and of a date-time the example.
func smallestValue(s *openapi3.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type.Is("object"):
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = smallestValue(s.Properties[name].Value)
		}
		return object
	case s.Type.Is("array"):
		return smallestItems(s, int(s.MinItems))
	case s.Format == "date-time":
		return s.Example
	case s.Type.Is("string"):
		return patternedText(s, int(s.MinLength))
	case s.Type.Is("boolean"):
		return false
	default:
		return leastValid(s)
	}
}

// leastValid returns the least number that the schema accepts, and 0 for one without a minimum.
func leastValid(s *openapi3.Schema) float64 {
	if s.Min == nil {
		return 0
	}
	return *s.Min
}

// smallestItems returns n items. Texts are all different if the schema requires it.
func smallestItems(s *openapi3.Schema, n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = smallestValue(s.Items.Value)
		word, isText := list[i].(string)
		if isText && s.UniqueItems {
			list[i] = word + strconv.Itoa(i)
		}
	}
	return list
}

// patternedText returns a string of at least n characters that the pattern matches. It tries the letter a n times, and
// the example with enough of them before it or after it; where the pattern matches none, it returns the example.
func patternedText(s *openapi3.Schema, n int) string {
	example, _ := s.Example.(string)
	fill := strings.Repeat("a", max(0, n-len(example)))
	for _, word := range []string{strings.Repeat("a", n), fill + example, example + fill} {
		if matchesPattern(s, word) {
			return word
		}
	}
	return example
}

// codePointEscape matches an escape of ECMA 262, the syntax of the contract's patterns. Go has another syntax for it.
var codePointEscape = regexp.MustCompile(`\\u([0-9A-F]{4})`)

// matchesPattern reports whether a text matches the schema's pattern. No text does where Go cannot compile the pattern.
func matchesPattern(s *openapi3.Schema, word string) bool {
	ok, err := regexp.MatchString(codePointEscape.ReplaceAllString(s.Pattern, `\x{$1}`), word)
	return ok && err == nil
}
