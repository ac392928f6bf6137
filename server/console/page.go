package console

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// pageSize bounds the rows of a list.
const pageSize = 50

// page is one page, whose template reads a T.
type page[T any] struct {
	routePath    string        // of its route, as in /instances/:id
	templateName string        // of templates/, without .html
	readEvery    time.Duration // between two readings while somebody watches; 0: the page is not live
	loadData     func(ctx context.Context, s Store, q query) (T, error)
}

// query is what a request asks a page for. Nothing changes it.
type query struct {
	escapedPath string
	pathParams  map[string]string
	values      url.Values
}

// Param returns a parameter of the path, unescaped.
func (q query) Param(name string) string { return q.pathParams[name] }

// maxParam bounds a parameter of the query, in bytes. No id is longer.
const maxParam = 255

// Get returns a parameter of the query that a person may have typed: without spaces around it, and bounded. It is ""
// when there is none.
func (q query) Get(name string) string {
	return boundedText(strings.TrimSpace(q.values.Get(name)), maxParam)
}

// Exactly returns a parameter of the query that one of our links has, such as the id of a player. Spaces around it are
// part of it: without them it would be the id of somebody else.
func (q query) Exactly(name string) string { return boundedText(q.values.Get(name), maxParam) }

// spellings returns what somebody may mean who looks for a parameter of the query: the exact text first, then the one
// without spaces around it, if that differs and is not empty.
func (q query) spellings(name string) (all []string) {
	for _, text := range []string{q.Exactly(name), q.Get(name)} {
		if text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// boundedText cuts a text after so many bytes, and drops what is not UTF-8, which Postgres refuses.
func boundedText(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "") // the cut may be within a character
}

// afterParam is the key of the last row of the page before: lists are paged by keys, so that the last page costs no
// more than the first.
const afterParam = "after"

// maxKey bounds the key of a row. The longest has a region, a project or a game server, and the id of a player.
const maxKey = 1024

// lastKey returns the key of the last row of the page before: two texts, empty on the first page.
func (q query) lastKey() (first, second string) {
	first, second, _ = strings.Cut(boundedText(q.values.Get(afterParam), maxKey), "~")
	return first, second
}

// pageAfter is the page of a list after a row whose key is two texts.
func (q query) pageAfter() opsview.Page {
	p := opsview.Page{Limit: pageSize}
	if first, second := q.lastKey(); first+second != "" {
		p.After = []any{first, second}
	}
	return p
}

// pageAfterID is pageAfter where the second part of the key is a UUID; a malformed one is the first page.
func (q query) pageAfterID() opsview.Page {
	p := opsview.Page{Limit: pageSize}
	first, second := q.lastKey()
	if id, err := uuid.Parse(second); err == nil {
		p.After = []any{first, id}
	}
	return p
}

// Next is the address of the page after a row with this key. The first part must have no tilde.
func (q query) Next(first, second string) string { return q.With(afterParam, first+"~"+second) }

// URL is the address of what is asked for, without parameters that are empty.
func (q query) URL() string {
	if len(q.values) == 0 {
		return q.escapedPath
	}
	return q.escapedPath + "?" + q.values.Encode()
}

// Paged reports whether this is not the first page of a list.
func (q query) Paged() bool { return q.Get(afterParam) != "" }

// With is URL with a parameter changed; an empty value removes it. The address is that of the first page of a list,
// unless the parameter is afterParam.
func (q query) With(name, value string) string {
	values := url.Values{}
	maps.Copy(values, q.values)
	// The key is one of the list with the old order and filter.
	values.Del(afterParam)
	values.Del(name)
	if value != "" {
		values.Set(name, value)
	}
	q.values = values
	return q.URL()
}

// queryOf reads a request.
func queryOf(g *gin.Context) query {
	q := query{escapedPath: g.Request.URL.EscapedPath(), pathParams: map[string]string{}, values: g.Request.URL.Query()}
	for _, p := range g.Params {
		q.pathParams[p.Key] = p.Value
	}
	// The version that a browser has is no part of what it asks for: all browsers that watch a page share one topic.
	q.values.Del(sinceParam)
	for name, all := range q.values {
		if len(all) == 0 || all[0] == "" { // an empty field of a filter
			q.values.Del(name)
		}
	}
	return q
}

// anyPage is a page of any type.
type anyPage struct {
	templateName string
	readEvery    time.Duration
	loadData     func(ctx context.Context, q query) (any, error)
}

// sinceParam is the version of the live part that a browser has when it first connects; later it sends Last-Event-ID.
const sinceParam = "_since"

// wantsStream reports whether a request is that of an EventSource.
func wantsStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// idParam returns the parameter id of the path, which must be the UUID of what the noun says. Errors: Invalid.
func idParam(q query, noun string) (uuid.UUID, error) {
	id, err := uuid.Parse(q.Param("id"))
	if err != nil {
		return id, &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "id",
			Detail: "the id of a " + noun + " is a UUID"}
	}
	return id, nil
}
