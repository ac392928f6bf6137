// Command docgen generates docs.html, the page that the director serves at /docs, from openapi.yaml. go generate runs
// it, and its result is checked in, so that the director itself parses no YAML. The page's layout is in page.html.tmpl;
// all its text comes from the contract.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/lattice-director/director/api"
)

//go:embed page.html.tmpl
var pageTemplate string

func main() {
	if err := writePage("docs.html"); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func writePage(file string) error {
	page, err := renderPage(api.OpenAPI())
	if err != nil {
		return err
	}
	return os.WriteFile(file, page, 0o644) //nolint:gosec // the page is public
}

// renderPage returns the page of a contract, which is YAML.
func renderPage(contract []byte) ([]byte, error) {
	var root any
	if err := yaml.UnmarshalWithOptions(contract, &root, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	page, err := template.New("page").Funcs(words).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = page.Execute(&out, Node{rootValue: root, value: root})
	return out.Bytes(), err
}
