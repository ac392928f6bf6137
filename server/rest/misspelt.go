package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/nearest"
)

// Spelled is implemented by request types whose fields are optional and decide what the request asks for, so that a misspelt
// name would silently ask for something else. [Handle] refuses unknown top-level names that resemble one of the type's, and
// ignores the others.
type Spelled interface {
	Spelled() // does nothing
}

// similarPart is how many letters of a name stand for one that may be wrong: 2 of "profiles".
const similarPart = 3

// checkSpelling refuses names of the body that are probably misspelt names of the fields of the struct that into points to.
func checkSpelling(body []byte, into any) error {
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(body, &sent); err != nil {
		return explain(body, into, err)
	}
	var c Check
	known := fieldNames(reflect.TypeOf(into).Elem())
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if meant := misspelt(name, known); meant != "" {
			c.add(name, fmt.Sprintf("is not a field of this request; did you mean %q?", meant))
		}
	}
	return c.Err()
}

// misspelt returns the field that an unknown name probably stands for, or "".
func misspelt(name string, known []string) string {
	if len(name) > maxPath || slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
		return ""
	}
	for _, k := range known {
		if nearest.NameFold(name, []string{k}, len(k)/similarPart) != "" {
			return k
		}
	}
	return ""
}

// fieldNames returns the JSON names of a struct's fields.
func fieldNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
