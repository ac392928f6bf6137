package contracttest

import (
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

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
		return textOf(s, int(s.MinLength))
	case s.Type.Is("boolean"):
		return false
	default:
		return leastValid(s)
	}
}

func leastValid(s *openapi3.Schema) float64 {
	if s.Min == nil {
		return 0
	}
	return *s.Min
}

// smallestItems returns n items, all different if the schema requires it.
func smallestItems(s *openapi3.Schema, n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = smallestValue(s.Items.Value)
		if word, ok := list[i].(string); ok && s.UniqueItems {
			list[i] = word + strconv.Itoa(i)
		}
	}
	return list
}

// textOf returns a string of at least n characters that the pattern matches, or the example where no string that it
// tries does.
func textOf(s *openapi3.Schema, n int) string {
	example, _ := s.Example.(string)
	fill := strings.Repeat("a", max(0, n-len(example)))
	for _, word := range []string{strings.Repeat("a", n), fill + example, example + fill} {
		if matchesPattern(s, word) {
			return word
		}
	}
	return example
}

// codePoint matches an escape of ECMA 262, the syntax of the contract's patterns. Go has another syntax for it.
var codePoint = regexp.MustCompile(`\\u([0-9A-F]{4})`)

func matchesPattern(s *openapi3.Schema, word string) bool {
	ok, err := regexp.MatchString(codePoint.ReplaceAllString(s.Pattern, `\x{$1}`), word)
	return ok && err == nil
}

func withField(object any, name string, value any) map[string]any {
	changed := maps.Clone(object.(map[string]any))
	changed[name] = value
	return changed
}

func withoutField(object any, name string) map[string]any {
	changed := maps.Clone(object.(map[string]any))
	delete(changed, name)
	return changed
}
