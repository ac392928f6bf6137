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
	path  string // path of the violation in the value: ".joined[0].sub"
	name  string // the rule, with a suffix if there are several violations of one rule
	value any
}

func (b breach) rule() string { return strings.Fields(b.name)[0] }

// breaches returns the violations of the value itself, then those of its nested values.
func breaches(s *openapi3.Schema) []breach {
	if len(s.Enum) > 0 {
		return []breach{{name: "enum", value: stranger(s)}} // another type, or null, would violate the enum as well
	}
	var list []breach
	if !s.Nullable {
		list = append(list, breach{name: "nullable", value: nil})
	}
	switch {
	case s.Type.Is("object"):
		return append(list, ofObject(s)...)
	case s.Type.Is("array"):
		return append(list, ofArray(s)...)
	case s.Type.Is("string"):
		return append(list, ofString(s)...)
	case s.Type.Is("boolean"):
		return append(list, breach{name: "type", value: "true"})
	case s.Type == nil:
		return list // any JSON
	default:
		return append(list, ofNumber(s)...)
	}
}

// stranger returns a value of the right type, so that it violates nothing but the enum.
func stranger(s *openapi3.Schema) any {
	if s.Type.Is("string") {
		return "stranger"
	}
	return -1
}

func ofString(s *openapi3.Schema) []breach {
	list := []breach{{name: "type", value: 7}}
	if s.MinLength > 0 {
		list = append(list, breach{name: "minLength", value: text(s, int(s.MinLength)-1)})
	}
	if s.MaxLength != nil {
		list = append(list, breach{name: "maxLength", value: text(s, int(*s.MaxLength)+1)})
	}
	for _, char := range []string{" ", "\x00", "é", "\ufffd"} {
		if word := char + text(s, max(1, int(s.MinLength)))[1:]; !matches(s, word) {
			list = append(list, breach{name: fmt.Sprintf("pattern %q", char), value: word})
		}
	}
	return list
}

func ofNumber(s *openapi3.Schema) []breach {
	list := []breach{{name: "type", value: "7"}}
	if s.Type.Is("integer") {
		list = append(list, breach{name: "type fraction", value: leastValid(s) + 0.5})
	}
	if s.Min != nil {
		list = append(list, breach{name: "minimum", value: *s.Min - 1})
	}
	if s.Max != nil {
		list = append(list, breach{name: "maximum", value: *s.Max + 1})
	}
	return list
}

func ofArray(s *openapi3.Schema) []breach {
	list := []breach{{name: "type", value: "x"}}
	if s.MinItems > 0 {
		list = append(list, breach{name: "minItems", value: items(s, int(s.MinItems)-1)})
	}
	if s.MaxItems != nil {
		list = append(list, breach{name: "maxItems", value: items(s, int(*s.MaxItems)+1)})
	}
	if s.UniqueItems {
		twice := smallest(s.Items.Value)
		list = append(list, breach{name: "uniqueItems", value: []any{twice, twice}})
	}
	for _, b := range breaches(s.Items.Value) {
		value := items(s, max(1, int(s.MinItems)))
		value[0] = b.value
		list = append(list, breach{path: "[0]" + b.path, name: b.name, value: value})
	}
	return list
}

func ofObject(s *openapi3.Schema) []breach {
	list := []breach{{name: "type", value: "x"}}
	object := smallest(s)
	for _, name := range s.Required {
		list = append(list, breach{path: "." + name, name: "required", value: without(object, name)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if misspelt := name + "x"; len(name) > 2 { // nobody can tell what a mistake in two letters stands for
			list = append(list, breach{path: "." + misspelt, name: "x-misspelt", value: with(object, misspelt, nil)})
		}
		for _, b := range breaches(s.Properties[name].Value) {
			list = append(list, breach{path: "." + name + b.path, name: b.name, value: with(object, name, b.value)})
		}
	}
	return append(list, ofMap(s)...)
}

// ofMap returns the violations of objects whose property names the caller chooses, such as labels.
func ofMap(s *openapi3.Schema) []breach {
	var list []breach
	values := s.AdditionalProperties.Schema
	if values == nil {
		return nil
	}
	if s.MaxProps != nil {
		full := map[string]any{}
		for i := range *s.MaxProps + 1 {
			full[fmt.Sprint("a", i)] = smallest(values.Value)
		}
		list = append(list, breach{name: "maxProperties", value: full})
	}
	if s.Extensions["x-key-pattern"] != nil {
		list = append(list, breach{name: "x-key-pattern", value: map[string]any{" ": smallest(values.Value)}})
	}
	for _, b := range breaches(values.Value) {
		list = append(list, breach{path: ".a" + b.path, name: b.name, value: map[string]any{"a": b.value}})
	}
	return list
}
