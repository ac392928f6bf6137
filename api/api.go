// Package api holds the contracts of the director's HTTP APIs, written by hand before the code: openapi.yaml (OpenAPI
// 3.0.3), and nexis.yaml for the control API of the realtime lobby. docs.html is a page for people that docgen
// generates from openapi.yaml. Package server serves all three. Package contracttest makes the bodies with which tests
// check that the server follows a contract.
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
