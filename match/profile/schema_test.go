package profile_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/profile"
)

// Pins a schema that an editor applies and that disagrees with the parser.
func TestSchemaAgreesWithParse(t *testing.T) {
	t.Parallel()
	document := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(profile.Schema())))(t)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("profile.json", document))
	schema := must.Get(c.Compile("profile.json"))(t)
	require.Equal(t, 2020, schema.DraftVersion)
	for name, document := range accepted {
		require.NoError(t, schema.Validate(instance(t, strings.TrimPrefix(document, "\uFEFF"))), name)
		p, err := profile.Parse([]byte(document))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(instance(t, string(p.Canonical()))), name)
	}
	for _, name := range []string{
		"list", "unknown key", "unknown rule", "no kind", "two kinds", "name", "name is a number", "no name", "no players", "0 players", "half a player",
		"step of another", "17 steps", "NaN", "negative", "no within", "33 rules", "accept unit", "duration", "word",
	} {
		document, ok := refused[name]
		if name == "accept unit" {
			document, ok = [2]string{duel("") + "accept: {within: 4 seconds}\n"}, true
		}
		require.True(t, ok, name)
		require.Error(t, schema.Validate(instance(t, document[0])), name)
	}
}

// instance returns a document as the validator takes it.
func instance(t *testing.T, document string) any {
	t.Helper()
	text := []byte(document)
	if !json.Valid(text) {
		var err error
		text, err = yaml.YAMLToJSON(text)
		require.NoError(t, err, document)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return strings.TrimSpace(string(text)) // not a number is no JSON
	}
	return value
}
