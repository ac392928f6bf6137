package console

import (
	"bytes"
	"embed"
	"hash/fnv"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"

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

// timeText finds the texts of time elements, which the browser keeps current.
var timeText = regexp.MustCompile(`(<time [^>]*>)[^<]*`)

// renderLive renders the live part of a page. The passing of time alone does not change its version.
func (t templates) renderLive(name string, v view) (fragment, error) {
	// Fields that differ between browsers are left out: a stream has none of them, and both have to render the same.
	v = view{Data: v.Data, Query: v.Query, Operator: v.Operator, Now: v.Now}
	var out bytes.Buffer
	if err := t.pagesByName[name].ExecuteTemplate(&out, "live", v); err != nil {
		return fragment{}, err
	}
	hash := fnv.New32a()
	// The texts of ages are left out: otherwise every reading would differ, and browsers would replace the page each time.
	_, _ = hash.Write(timeText.ReplaceAll(out.Bytes(), []byte("$1")))
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

// parseTemplates parses all templates at the start, so that one with an error is never served.
func parseTemplates(consoleFuncs template.FuncMap) (t templates, err error) {
	files, err := fs.Sub(templateFiles, "templates")
	if err != nil {
		return t, err
	}
	all := maps.Clone(funcs)
	maps.Copy(all, consoleFuncs)
	// A misspelt key of a dict would be shown as "<no value>".
	base, err := template.New("base").Funcs(all).Option("missingkey=error").ParseFS(files, shared...)
	if err != nil {
		return t, err
	}
	names, err := fs.Glob(files, "*.html")
	if err != nil {
		return t, err
	}
	t.pagesByName = map[string]*template.Template{}
	for _, name := range names {
		// A set for each page: all define "title", "head" and "live", and would replace each other's.
		own, err := template.Must(base.Clone()).ParseFS(files, name)
		if err != nil {
			return t, err
		}
		t.pagesByName[strings.TrimSuffix(path.Base(name), ".html")] = own
	}
	t.loginPage, t.errorPage = t.pagesByName["login"].Lookup("login.html"), t.pagesByName["error"].Lookup("error.html")
	// A page is executed as the frame, which includes the page's own templates.
	for name, own := range t.pagesByName {
		t.pagesByName[name] = own.Lookup("layout")
	}
	return t, nil
}
