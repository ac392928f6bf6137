// Package contracttest generates bodies from the contract's schemas: the smallest one that a schema accepts and, for
// each of its constraints, one that violates only this constraint. It is for tests: those of package api prove that a
// validator distinguishes these bodies, those of package server prove that the server does.
package contracttest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/lattice-director/director/api"
)

// Document parses and validates the contract, with its examples and defaults. Each call returns a new document.
func Document() (*openapi3.T, error) { return parseContract(api.OpenAPI()) }

// Nexis is Document for the control API of the realtime lobby.
func Nexis() (*openapi3.T, error) { return parseContract(api.Nexis()) }

func parseContract(contract []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(contract)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background(), openapi3.EnableExamplesValidation(),
		openapi3.EnableSchemaFormatValidation())
}

// Smallest returns the JSON of the smallest value that the schema accepts, with the required fields only. A schema
// whose pattern no sequence of the letter a matches must have an example, which is used instead.
func Smallest(s *openapi3.Schema) []byte { return encodeJSON(smallestValue(s)) }

// Case is a body that violates one constraint.
type Case struct {
	Name  string // unique within the schema, such as "joined[0].sub maxLength"
	Field string // the field, as in errors[].field of a problem: "joined[0].sub"; empty for the body as a whole
	// Rule is the constraint's name in OpenAPI, such as "maxLength", or our extension "x-key-pattern", or "x-misspelt"
	// for an unknown name that resembles a property's.
	Rule string
	Body []byte // JSON
}

// BrokenCases returns one case for each constraint of the schema and of its nested schemas.
func BrokenCases(s *openapi3.Schema) []Case {
	var cases []Case
	for _, b := range breachesOf(s) {
		field := strings.TrimPrefix(b.valuePath, ".")
		cases = append(cases, Case{Name: cmp.Or(field, "body") + " " + b.name, Field: field, Rule: b.ruleName(),
			Body: encodeJSON(b.breachingValue)})
	}
	return cases
}

// BrokenTexts returns the values of a parameter of a query or a header that violate one constraint of its schema each.
// No value is empty, which is an absent parameter, or has a NUL, which is refused anywhere in a request.
func BrokenTexts(s *openapi3.Schema) []string {
	texts := []string{"x"} // neither a boolean nor a number
	switch {
	case s.Type.Is("string"):
		texts = nil // any text is of the type
		for _, b := range stringBreaches(s) {
			word, isText := b.breachingValue.(string)
			if isText && word != "" && !strings.Contains(word, "\x00") && s.VisitJSON(word) != nil {
				texts = append(texts, word)
			}
		}
		if s.Format == "uuid" {
			texts = append(texts, "x")
		}
	case s.Type.Is("integer"):
		texts = append(texts, "0.5", "99999999999999999999")
		for _, b := range numberBreaches(s) {
			if b.ruleName() == "minimum" || b.ruleName() == "maximum" {
				texts = append(texts, fmt.Sprint(b.breachingValue))
			}
		}
	}
	return texts
}

// encodeJSON ignores the error, which there cannot be: its values are made of maps, slices, strings and finite numbers.
func encodeJSON(v any) []byte {
	body, _ := json.Marshal(v)
	return body
}
