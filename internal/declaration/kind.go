package declaration

import (
	"encoding/json"
	"slices"

	"github.com/lattice-director/director/internal/base/document"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
	"github.com/lattice-director/director/match/profile"
)

// fileKind is what a file declares, by the keys at its top.
type fileKind int

const (
	profileFile fileKind = iota
	poolFile
	unknownFile
)

// kindOf tells files apart. What cannot be read counts as a profile, whose parser says why.
func kindOf(text []byte) fileKind {
	has := keysOf(text)
	switch {
	case has == nil, slices.ContainsFunc([]string{"name", "teams", "function"}, has):
		return profileFile
	case slices.ContainsFunc([]string{"apps", "pools", "projects"}, has):
		return poolFile
	}
	return unknownFile
}

// keysOf returns which keys are at the top of a document; nil if it cannot be read.
func keysOf(text []byte) (has func(key string) bool) {
	// JSON first, although YAML includes it: YAML refuses tabs, with which JSON may be indented.
	if object := (map[string]json.RawMessage{}); json.Unmarshal(text, &object) == nil {
		return func(key string) bool { _, found := object[key]; return found }
	}
	if positions := positionsOf(text); positions != nil {
		return positions.Has
	}
	return nil
}

// positionsOf returns where the values of a document of any kind begin; nil if it is not YAML.
func positionsOf(text []byte) document.Positions {
	const maxDepth = 32 // that of profiles, which are the deepest
	limits := document.Limits{Bytes: max(poolfile.MaxBytes, profile.MaxBytes), Depth: maxDepth, Aliases: true}
	return limits.ReadPositions(text)
}
