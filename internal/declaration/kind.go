package declaration

import (
	"bytes"
	"encoding/json"

	"github.com/goccy/go-yaml/ast"

	"github.com/lattice-director/director/internal/base/document"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
	"github.com/lattice-director/director/match/profile"
)

// fileKind is what a file declares, by the keys at its top.
type fileKind int

const (
	isProfile fileKind = iota
	isPoolFile
	isNeither
)

// kindOf tells files apart. What cannot be read counts as a profile, whose parser says why.
func kindOf(text []byte) fileKind {
	keys := keysOf(text)
	switch {
	case keys == nil, keys["name"], keys["teams"], keys["function"]:
		return isProfile
	case keys["apps"], keys["pools"], keys["projects"]:
		return isPoolFile
	}
	return isNeither
}

// keysOf returns the keys at the top of a document; nil if it is no mapping.
func keysOf(text []byte) map[string]bool {
	if object := (map[string]json.RawMessage{}); json.Unmarshal(text, &object) == nil {
		keys := make(map[string]bool, len(object))
		for key := range object {
			keys[key] = true
		}
		return keys
	}
	body := bodyOf(text)
	if body == nil {
		return nil
	}
	keys := map[string]bool{}
	switch body := body.(type) {
	case *ast.MappingNode:
		for _, v := range body.Values {
			keys[v.Key.GetToken().Value] = true
		}
	case *ast.MappingValueNode:
		keys[body.Key.GetToken().Value] = true
	default:
		return nil
	}
	return keys
}

// bodyOf returns the syntax tree of a document of any kind, or nil.
func bodyOf(raw []byte) ast.Node {
	limits := document.Limits{Bytes: max(poolfile.MaxBytes, profile.MaxBytes), Depth: maxDepth, Aliases: true}
	text, err := limits.Text(bytes.TrimSpace(raw))
	if err != nil {
		return nil
	}
	body, err := limits.YAML(text)
	if err != nil {
		return nil
	}
	return body
}

// maxDepth is that of the deepest documents, which are profiles.
const maxDepth = 32
