// Package api holds the contract of the director's HTTP API: openapi.yaml (OpenAPI 3.0.3), written by hand before the
// code, that of the realtime lobby's control API, nexis.yaml, and docs.html, a page for people that docgen generates
// from it. Package server serves both. Package contracttest checks in tests that the server follows the contract.
package api

import _ "embed"

//go:generate go run ./docgen

//go:embed openapi.yaml
var openAPI string

//go:embed nexis.yaml
var nexis string

//go:embed docs.html
var docs string

// OpenAPI returns the contract as YAML, media type application/yaml (RFC 9512). Each call returns a copy.
func OpenAPI() []byte { return []byte(openAPI) }

// Nexis returns the contract of the realtime lobby's control API as YAML. Each call returns a copy.
func Nexis() []byte { return []byte(nexis) }

// Docs returns the contract as one HTML page that loads nothing else. Each call returns a copy.
func Docs() []byte { return []byte(docs) }
