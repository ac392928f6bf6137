package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// Pins a secret of the program that the Helm chart would take as a value, and so write into a ConfigMap.
func TestTheHelmChartTakesNoSecretAsASetting(t *testing.T) {
	t.Parallel()
	refused, refusedInExtraEnv := helmSchema(t)
	for _, s := range allSettings() {
		if s.secret {
			for _, name := range slices.Concat([]string{s.variableName()}, s.aliases) {
				require.Contains(t, refused, name)
				require.Contains(t, refusedInExtraEnv, name)
			}
		}
	}
}

// Pins a listener's address that the Helm chart takes as a setting: the replica would listen where no Service and no
// probe looks.
func TestTheHelmChartOwnsTheAddressesOfListeners(t *testing.T) {
	t.Parallel()
	refused, _ := helmSchema(t)
	for _, name := range []string{"DIRECTOR_ADDR", "DIRECTOR_METRICS_ADDR", "DIRECTOR_GRPC_ADDR",
		"DIRECTOR_ORCHESTRATOR_ADDR", "DIRECTOR_REALTIME_ADDR",
		"DIRECTOR_REALTIME_CONTROL_ADDR"} {
		require.Contains(t, refused, name)
		require.Empty(t, newEnvironment([]string{name + "=:1"}).unknownVariables())
	}
}

// helmSchema is what the schema of the chart's values refuses.
func helmSchema(t *testing.T) (inSettings []string, inExtraEnv []string) {
	t.Helper()
	var schema struct {
		Defs struct {
			Settings struct {
				Properties map[string]any // each refers to what is set instead
			}
			NotSecret struct {
				Not struct {
					Enum []string
				}
			} `json:"notSecret"`
		} `json:"$defs"`
	}
	text := must.Get(os.ReadFile("../../ops/helm/lattice-director/values.schema.json"))(t)
	require.NoError(t, json.Unmarshal(text, &schema))
	return slices.Collect(maps.Keys(schema.Defs.Settings.Properties)), schema.Defs.NotSecret.Not.Enum
}
