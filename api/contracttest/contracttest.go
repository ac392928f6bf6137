// Package contracttest makes bodies out of the contract's schemas: the smallest one that a schema accepts and, for
// each of its constraints, one that breaks this constraint alone. It is for tests: the contract's own prove that a
// validator tells those bodies apart, the server's prove that the server does.
package contracttest

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/lattice-director/director/api"
)

// Document parses and validates the contract, its examples and defaults included. Every call makes its own.
func Document() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation())
}

// Smallest gives the JSON of a value that the schema accepts: required fields only, everything as small as it may be.
// A pattern that no run of the letter a satisfies needs an example in the schema, which is used instead.
func Smallest(s *openapi3.Schema) []byte { return encode(smallest(s)) }

// Case is a body that breaks one constraint.
type Case struct {
	Name  string // unique within the schema, such as "joined[0].sub maxLength"
	Field string // where, as errors[].field of a problem says it: "joined[0].sub"; empty for the body as a whole
	Rule  string // the constraint as OpenAPI calls it: "maxLength"; or "x-key-pattern", which is ours
	Body  []byte // JSON
}

// Broken gives one case for each constraint of the schema and of everything in it.
func Broken(s *openapi3.Schema) []Case {
	var cases []Case
	for _, b := range breaches(s) {
		field := strings.TrimPrefix(b.at, ".")
		cases = append(cases, Case{Name: cmp.Or(field, "body") + " " + b.name, Field: field, Rule: b.rule(), Body: encode(b.value)})
	}
	return cases
}

// encode cannot fail: its values are made of maps, slices, strings and finite numbers.
func encode(v any) []byte {
	body, _ := json.Marshal(v)
	return body
}
