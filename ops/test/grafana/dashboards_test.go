// Package grafana_test checks the dashboards with Grafana's own types, which its foundation SDK generates from the
// schemas of Grafana and of its panels. It needs no Grafana.
package grafana_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	plugins.RegisterDefaultPlugins() // the types of the panels and of the queries
	m.Run()
}

// Pins a panel whose option or unit Grafana would ignore because it is misspelt, or of another type: such a panel loads
// and shows something else.
func TestDashboardsAreOfGrafanasTypes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../grafana/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, mistakes(text), file)
	}
}

func TestMistakesOfDashboardsAreFound(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../grafana/director.json")
	require.NoError(t, err)
	for _, mistake := range [][2]string{
		{`"gridPos"`, `"gridPosition"`}, {`"reduceOptions"`, `"reduceOption"`}, {`"schemaVersion": `, `"schemaVersion": "x", "version": `},
	} {
		changed := strings.Replace(string(text), mistake[0], mistake[1], 1)
		require.NotEqual(t, string(text), changed, mistake[0])
		require.NotEmpty(t, mistakes([]byte(changed)), mistake[1])
	}
}

// mistakes returns what a dashboard has that Grafana does not know. What a panel leaves out is none: its plugin has
// defaults for that.
func mistakes(text []byte) (found []string) {
	var d dashboard.Dashboard
	err := d.UnmarshalJSONStrict(text)
	var all cog.BuildErrors
	if err != nil && !errors.As(err, &all) {
		return []string{err.Error()}
	}
	for _, one := range all {
		if !strings.Contains(one.Message, "required field is missing") {
			found = append(found, one.Error())
		}
	}
	if err := d.Validate(); err != nil {
		found = append(found, err.Error())
	}
	return found
}
