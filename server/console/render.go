package console

import (
	"bytes"
	"embed"
	"hash/fnv"
	"html/template"
	"net/http"
	"regexp"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

//go:embed templates
var templateFiles embed.FS

// templates are the parsed templates.
type templates struct {
	pagesByName          map[string]*template.Template // by the name of the file without .html
	loginPage, errorPage *template.Template            // which have a frame of their own
}

// shared are the templates that others include.
var shared = []string{"layout.html", "parts.html"}

// fragment is the rendered live part of a page.
type fragment struct {
	html    template.HTML
	version int // changes with the content
}

// relative is the text of a time element, which the browser keeps current.
var relative = regexp.MustCompile(`(<time [^>]*>)[^<]*`)

// renderLive renders the live part of a page. What only the passing of time changes does not change its version.
func (t templates) renderLive(name string, v view) (fragment, error) {
	// Without what differs between browsers: a stream renders "live" without it, and both have to be equal.
	v = view{Data: v.Data, Query: v.Query, Operator: v.Operator, Now: v.Now}
	var out bytes.Buffer
	if err := t.pagesByName[name].ExecuteTemplate(&out, "live", v); err != nil {
		return fragment{}, err
	}
	hash := fnv.New32a()
	// Without the texts of ages: otherwise every reading would differ, and browsers would replace the page each time.
	_, _ = hash.Write(relative.ReplaceAll(out.Bytes(), []byte("$1")))
	html := template.HTML(out.String()) //nolint:gosec // G203: a template has escaped it
	return fragment{html, int(hash.Sum32())}, nil
}

// writeTemplate answers with a template. It is rendered whole before it is sent, so that an error is not half a page.
func (c *Console) writeTemplate(g *gin.Context, status int, t *template.Template, data any) {
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		rest.Fail(g, err)
		return
	}
	writeHTML(g.Writer, status, out.Bytes())
}

// writeHTML answers with a page. Its length is set, so that a browser notices one that was cut off.
func writeHTML(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a failed write means that the browser has disconnected
}
