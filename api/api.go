// Package api holds the contract of the director's HTTP API, written by hand before the code: openapi.yaml
// (OpenAPI 3.0.3) for machines, and docs.html, the same for people, which docgen makes of it. What serves the
// contract is in server, what proves that the server keeps it is in contracttest and the tests that use it.
package api

import _ "embed"

//go:generate go run ./docgen

//go:embed openapi.yaml
var openAPI string

//go:embed docs.html
var docs string

// OpenAPI gives the contract as YAML, media type application/yaml (RFC 9512). Each call makes a copy.
func OpenAPI() []byte { return []byte(openAPI) }

// Docs gives the contract as one HTML page that loads nothing from anywhere. Each call makes a copy.
func Docs() []byte { return []byte(docs) }
