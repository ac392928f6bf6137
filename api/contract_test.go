package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/internal/testkit/must"
)

func document(t *testing.T) *openapi3.T {
	t.Helper()
	return must.Get(contracttest.Document())(t)
}

// eachOperation calls f in a subtest for each operation of the contract.
func eachOperation(t *testing.T, f func(t *testing.T, op *openapi3.Operation)) {
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			t.Run(method+" "+path, func(t *testing.T) {
				t.Parallel()
				f(t, op)
			})
		}
	}
}

// eachSchema calls f in a subtest for each named schema.
func eachSchema(t *testing.T, f func(t *testing.T, name string, s *openapi3.Schema)) {
	for name, ref := range document(t).Components.Schemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, name, ref.Value)
		})
	}
}

// Every operation needs a name for code generators, a tag for the page, and examples for its callers.
func TestEveryOperationIsNamedTaggedAndShown(t *testing.T) {
	t.Parallel()
	eachOperation(t, func(t *testing.T, op *openapi3.Operation) {
		require.NotEmpty(t, op.OperationID)
		require.NotEmpty(t, op.Summary)
		require.NotEmpty(t, op.Description)
		require.Len(t, op.Tags, 1)
		require.NotNil(t, op.Security, "an operation without authentication says so")
		for _, p := range op.Parameters {
			require.NotNil(t, p.Value.Example, p.Value.Name)
		}
		if op.RequestBody != nil {
			requireExamples(t, op.RequestBody.Value.Content)
		}
		for _, response := range op.Responses.Map() {
			requireExamples(t, response.Value.Content)
			for name, header := range response.Value.Headers {
				require.NoError(t, header.Value.Schema.Value.VisitJSON(header.Value.Example), name)
			}
		}
	})
}

// requireExamples only checks that examples exist: the validation of the document checks those of bodies and
// parameters.
func requireExamples(t *testing.T, content openapi3.Content) {
	t.Helper()
	for name, media := range content {
		if strings.Contains(name, "json") {
			require.True(t, len(media.Examples) > 0 || media.Schema.Value.Example != nil, name)
		}
	}
}

// Every error must be a problem document and have a request id, and every "retry later" must have a Retry-After.
func TestEveryErrorIsAProblem(t *testing.T) {
	t.Parallel()
	eachOperation(t, func(t *testing.T, op *openapi3.Operation) {
		for status, response := range op.Responses.Map() {
			require.Contains(t, response.Value.Headers, "X-Request-Id", status)
			if status == "429" || status == "503" {
				require.Contains(t, response.Value.Headers, "Retry-After", status)
			}
			content := maps.Clone(response.Value.Content)
			if op.OperationID == "waitForServer" {
				delete(content, "text/plain") // bevygap's client shows the text to the player
			}
			if status >= "400" && status != "default" {
				requireProblem(t, status, content)
			}
		}
	})
}

// requireProblem requires that an answer is a problem document, and that its examples are of their code and status.
func requireProblem(t *testing.T, status string, content openapi3.Content) {
	t.Helper()
	require.Equal(t, []string{"application/problem+json"}, slices.Collect(maps.Keys(content)), status)
	media := content["application/problem+json"]
	require.Equal(t, "#/components/schemas/Problem", media.Schema.Ref, status)
	for code, example := range media.Examples {
		value := example.Value.Value.(map[string]any)
		require.Equal(t, code, value["code"])
		require.Equal(t, "/docs#"+code, value["type"])
		require.Equal(t, status, fmt.Sprint(value["status"]))
	}
}

// The codes of the schema and those that the page explains must be the same.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	doc := document(t)
	_, table, _ := strings.Cut(doc.Info.Description, "## Errors")
	var explained []any
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		explained = append(explained, row[1])
	}
	require.Equal(t, explained, doc.Components.Schemas["Problem"].Value.Properties["code"].Value.Enum)
}

// Bodies of old or careless clients must keep working: unknown fields, and null for absent.
func TestRequestsAreOpenAndNullMeansAbsent(t *testing.T) {
	t.Parallel()
	eachOperation(t, func(t *testing.T, op *openapi3.Operation) {
		if op.RequestBody == nil {
			return
		}
		s := op.RequestBody.Value.Content["application/json"].Schema.Value
		require.Nil(t, s.AdditionalProperties.Has)
		for name, property := range s.Properties {
			require.NotEqual(t, slices.Contains(s.Required, name), property.Value.Nullable, name)
		}
	})
}

// Every schema must have an example, and accept its own smallest value.
func TestSmallestBodiesAreValid(t *testing.T) {
	t.Parallel()
	eachSchema(t, func(t *testing.T, _ string, s *openapi3.Schema) {
		require.NotNil(t, s.Example)
		require.NoError(t, s.VisitJSON(decode(t, contracttest.Smallest(s)), openapi3.MultiErrors()))
	})
}

// Every limit of the contract must be enforced, must hide no other limit, and must give one error for one mistake.
func TestBrokenBodiesBreakOneConstraintEach(t *testing.T) {
	t.Parallel()
	eachSchema(t, func(t *testing.T, _ string, s *openapi3.Schema) {
		seen := map[string]bool{}
		for _, c := range contracttest.BrokenCases(s) {
			require.False(t, seen[c.Name], c.Name)
			seen[c.Name] = true
			if strings.HasPrefix(c.Rule, "x-") {
				continue // OpenAPI 3.0 has no keyword for it; the server's tests check it
			}
			complaints := complaintsOf(s.VisitJSON(decode(t, c.Body), openapi3.MultiErrors()))
			require.Equal(t, []string{c.Field + ": " + c.Rule}, complaints, c.Name)
		}
	})
}

func decode(t *testing.T, body []byte) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(body, &v))
	return v
}

// complaintsOf returns the validator's errors, each as "joined[0].sub: maxLength".
func complaintsOf(err error) (list []string) {
	var many openapi3.MultiError
	var one *openapi3.SchemaError
	switch {
	case errors.As(err, &many):
		for _, e := range many {
			list = append(list, complaintsOf(e)...)
		}
	case errors.As(err, &one):
		list = append(list, fieldOf(one.JSONPointer())+": "+one.SchemaField)
	}
	return list
}

// fieldOf returns a path as errors[].field of a problem has it: "joined[0].sub".
func fieldOf(pointer []string) string {
	var field strings.Builder
	for _, step := range pointer {
		if _, err := strconv.Atoi(step); err == nil {
			step = "[" + step + "]"
		} else if field.Len() > 0 {
			step = "." + step
		}
		field.WriteString(step)
	}
	return field.String()
}
