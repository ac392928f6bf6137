package helm_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
)

const chartDir = "../../helm/lattice-director"

// loaded returns the chart, which rendering does not change.
var loaded = sync.OnceValues(func() (*chart.Chart, error) { return loader.Load(chartDir) })

// rendered is what one set of values renders: objects that the API server would accept, and the notes.
type rendered struct {
	objects []runtime.Object
	notes   string
}

// renderValues renders the chart with values, which are YAML and may be "".
func renderValues(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	chart, err := loaded()
	require.NoError(t, err)
	vals, err := loader.LoadValues(strings.NewReader(values))
	require.NoError(t, err)
	release := common.ReleaseOptions{Name: "game", Namespace: "games", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, vals, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	strict := engine.Engine{Strict: true}
	return strict.RenderWithContext(context.WithoutCancel(t.Context()), chart, all)
}

// render renders the chart and requires that Kubernetes accepts each object.
func render(t *testing.T, values string) rendered {
	t.Helper()
	files, err := renderValues(t, values)
	require.NoError(t, err)
	var r rendered
	for _, name := range sortedKeys(files) {
		switch {
		case strings.HasSuffix(name, "NOTES.txt"):
			r.notes = files[name]
		case strings.HasSuffix(name, ".yaml"):
			r.objects = append(r.objects, accepted(t, path.Base(name), files[name])...)
		}
	}
	requireUniqueNames(t, r.objects)
	return r
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// requireUniqueNames requires that no object replaces another one.
func requireUniqueNames(t *testing.T, objects []runtime.Object) {
	t.Helper()
	seen := map[string]bool{}
	for _, o := range objects {
		id := kindOf(o) + "/" + meta(o).GetName()
		require.False(t, seen[id], "two objects are named %s", id)
		seen[id] = true
	}
}

// named returns the object of type T with that name, and fails the test if there is none.
func named[T runtime.Object](t *testing.T, r rendered, name string) T {
	t.Helper()
	for _, o := range of[T](r) {
		if meta(o).GetName() == name {
			return o
		}
	}
	require.Fail(t, "not rendered", "%T %s", *new(T), name)
	return *new(T)
}

// of returns all objects of type T.
func of[T runtime.Object](r rendered) (found []T) {
	for _, o := range r.objects {
		if o, ok := o.(T); ok {
			found = append(found, o)
		}
	}
	return found
}
