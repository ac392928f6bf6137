package poolfile

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of documents. It is made of the types into which [Parse] reads, and
// accepts every document that Parse accepts. Parse checks more: what must be there, names, sizes and what belongs
// together.
func Schema() []byte {
	s := schemaOf(reflect.TypeFor[poolDocument]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "App versions, pools and projects"
	s["description"] = "What Lattice Director runs, and the projects of its realtime lobby."
	s["type"] = "object"
	out, _ := json.MarshalIndent(s, "", "  ") // maps, lists, texts and finite numbers: it cannot fail
	return append(out, '\n')
}

// schemaOf returns the schema of a type. A value may always be null, which is as if its key were absent.
func schemaOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[text]():
		return map[string]any{"type": []string{"string", "number", "boolean", "null"}}
	case reflect.TypeFor[whole]():
		return map[string]any{"type": []string{"integer", "null"}, "minimum": math.MinInt32, "maximum": math.MaxInt32}
	case reflect.TypeFor[portNumber]():
		return map[string]any{"type": []string{"integer", "null"}, "minimum": 0, "maximum": math.MaxUint16}
	case reflect.TypeFor[protocolID]():
		return map[string]any{"type": []string{"integer", "null"}, "minimum": 0, "maximum": uint64(math.MaxUint64)}
	case reflect.TypeFor[number]():
		return map[string]any{"type": []string{"number", "null"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	default: // bool
		return map[string]any{"type": []string{"boolean", "null"}}
	}
}

func structSchema(t reflect.Type) map[string]any {
	properties := map[string]any{}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		properties[name] = schemaOf(field.Type)
	}
	// Parse refuses unknown keys as well.
	return map[string]any{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}
