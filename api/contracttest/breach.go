package contracttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// breach is a value in which one constraint is violated, possibly in a nested value.
type breach struct {
	valuePath      string // path of the violation in the value: ".joined[0].sub"
	name           string // the rule, with a suffix if there are several violations of one rule
	breachingValue any
}

func (b breach) ruleName() string { return strings.Fields(b.name)[0] }

// breachesOf returns the violations of the value itself, then those of its nested values.
func breachesOf(s *openapi3.Schema) []breach {
	if len(s.Enum) > 0 {
		// A value of another type, and null, would violate the enum as well: they are no cases of their own.
		return []breach{{name: "enum", breachingValue: strangeValue(s)}}
	}
	var list []breach
	if !s.Nullable {
		list = append(list, breach{name: "nullable", breachingValue: nil})
	}
	switch {
	case s.Type.Is("object"):
		return append(list, objectBreaches(s)...)
	case s.Type.Is("array"):
		return append(list, arrayBreaches(s)...)
	case s.Type.Is("string"):
		return append(list, stringBreaches(s)...)
	case s.Type.Is("boolean"):
		return append(list, breach{name: "type", breachingValue: "true"})
	case s.Type == nil:
		return list // any JSON
	default:
		return append(list, numberBreaches(s)...)
	}
}

// strangeValue returns a value of the enum's type that is not in the enum.
func strangeValue(s *openapi3.Schema) any {
	if s.Type.Is("string") {
		return "stranger"
	}
	return -1
}

func stringBreaches(s *openapi3.Schema) []breach {
	list := []breach{{name: "type", breachingValue: 7}}
	if s.MinLength > 0 {
		list = append(list, breach{name: "minLength", breachingValue: patternedText(s, int(s.MinLength)-1)})
	}
	if s.MaxLength != nil {
		list = append(list, breach{name: "maxLength", breachingValue: patternedText(s, int(*s.MaxLength)+1)})
	}
	// Characters that some pattern forbids, each in place of the first one.
	for _, char := range []string{" ", "\x00", "é", "\ufffd"} {
		if word := char + patternedText(s, max(1, int(s.MinLength)))[1:]; !matchesPattern(s, word) {
			list = append(list, breach{name: fmt.Sprintf("pattern %q", char), breachingValue: word})
		}
	}
	return list
}

func numberBreaches(s *openapi3.Schema) []breach {
	list := []breach{{name: "type", breachingValue: "7"}}
	if s.Type.Is("integer") {
		list = append(list, breach{name: "type fraction", breachingValue: leastValid(s) + 0.5})
	}
	if s.Min != nil {
		list = append(list, breach{name: "minimum", breachingValue: *s.Min - 1})
	}
	if s.Max != nil {
		list = append(list, breach{name: "maximum", breachingValue: *s.Max + 1})
	}
	return list
}

func arrayBreaches(s *openapi3.Schema) []breach {
	list := []breach{{name: "type", breachingValue: "x"}}
	if s.MinItems > 0 {
		list = append(list, breach{name: "minItems", breachingValue: smallestItems(s, int(s.MinItems)-1)})
	}
	if s.MaxItems != nil {
		list = append(list, breach{name: "maxItems", breachingValue: smallestItems(s, int(*s.MaxItems)+1)})
	}
	if s.UniqueItems {
		twice := smallestValue(s.Items.Value)
		list = append(list, breach{name: "uniqueItems", breachingValue: []any{twice, twice}})
	}
	for _, b := range breachesOf(s.Items.Value) {
		value := smallestItems(s, max(1, int(s.MinItems)))
		value[0] = b.breachingValue
		list = append(list, breach{valuePath: "[0]" + b.valuePath, name: b.name, breachingValue: value})
	}
	return list
}

func objectBreaches(s *openapi3.Schema) []breach {
	list := []breach{{name: "type", breachingValue: "x"}}
	object := smallestValue(s)
	for _, name := range s.Required {
		list = append(list, breach{valuePath: "." + name, name: "required", breachingValue: withoutField(object, name)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if len(name) > 2 { // nobody can tell what a mistake in two letters stands for
			misspelt := name + "x"
			list = append(list, breach{valuePath: "." + misspelt, name: "x-misspelt",
				breachingValue: withField(object, misspelt, nil)})
		}
		for _, b := range breachesOf(s.Properties[name].Value) {
			list = append(list, breach{valuePath: "." + name + b.valuePath, name: b.name,
				breachingValue: withField(object, name, b.breachingValue)})
		}
	}
	return append(list, mapBreaches(s)...)
}

// mapBreaches returns the violations of objects whose property names the caller chooses, such as labels.
func mapBreaches(s *openapi3.Schema) []breach {
	var list []breach
	values := s.AdditionalProperties.Schema
	if values == nil {
		return nil
	}
	if s.MaxProps != nil {
		full := map[string]any{}
		for i := range *s.MaxProps + 1 {
			full[fmt.Sprint("a", i)] = smallestValue(values.Value)
		}
		list = append(list, breach{name: "maxProperties", breachingValue: full})
	}
	if s.Extensions["x-key-pattern"] != nil {
		list = append(list, breach{name: "x-key-pattern",
			breachingValue: map[string]any{" ": smallestValue(values.Value)}})
	}
	for _, b := range breachesOf(values.Value) {
		list = append(list, breach{valuePath: ".a" + b.valuePath, name: b.name,
			breachingValue: map[string]any{"a": b.breachingValue}})
	}
	return list
}

// withField returns a copy of the object in which one field has this value.
func withField(object any, name string, value any) map[string]any {
	changed := maps.Clone(object.(map[string]any))
	changed[name] = value
	return changed
}

// withoutField returns a copy of the object without one field.
func withoutField(object any, name string) map[string]any {
	changed := maps.Clone(object.(map[string]any))
	delete(changed, name)
	return changed
}
