package poolfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

// Pins an editor that marks what the director reads, or completes what it refuses.
func TestTheSchemaIsThatOfTheDocuments(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(poolfile.Schema())))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("pools.json", document))
	schema, err := compiler.Compile("pools.json")
	require.NoError(t, err)
	validate := func(text string) error {
		var read any
		require.NoError(t, yaml.Unmarshal([]byte(text), &read), text)
		plain, err := json.Marshal(read)
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(plain)))
		require.NoError(t, err)
		return schema.Validate(value)
	}
	for _, text := range []string{arena, planned, "pools: []", "apps:", "projects: [{id: 7, name: Town}]", "pools: [{region: eu, app: a, version: 1.10, max: 10, modes: []}]"} {
		_, err := poolfile.Parse([]byte(text))
		require.NoError(t, err, text)
		require.NoError(t, validate(text), text)
	}
	for _, text := range []string{"app: []", "apps: arena", "apps: [{ports: [7777]}]", "apps: [{netcode: yes}]", "apps: [{ports: [{internal: 65536}]}]", "apps: [{capacity: many}]",
		"apps: [{digest_required: maybe}]", "pools: [{coordinates: {latitude: north}}]", "projects: [{id: a, secret: b}]", "apps: [{env: [a]}]", "pools: [{schedule: {at: 18:00}}]", "pools: [{schedule: [{from: 18:00}]}]", "pools: [{forecast: maybe}]"} {
		_, err := poolfile.Parse([]byte(text))
		require.Error(t, err, text)
		require.Error(t, validate(text), text)
	}
}
