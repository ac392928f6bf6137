package orchestrator

import (
	"strconv"
	"strings"

	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/rest"
)

// request is a request without a body.
type request = rest.In[rest.None]

// answerList answers from this replica's roster, or with 304 if the caller already has that list.
func (s *REST) answerList(in request, makeAnswer func(*roster.View) answer) (answer, error) {
	view := s.options.Roster.View()
	// Before the first read of the fleet, an empty list would say that there are no game servers.
	if view == nil {
		return answer{}, errNotReady
	}
	etag := entityTag(view)
	if isUnchanged(strings.Join(in.Headers("If-None-Match"), ","), etag) {
		return answer{etag: etag}, nil
	}
	a := makeAnswer(view)
	a.etag = etag
	return a, nil
}

// entityTag returns the entity tag of all lists. It is derived from the state hash of the fleet, so all lists change
// together.
func entityTag(v *roster.View) string { return `W/"` + v.Stats().StateHash() + `"` }

// isUnchanged reports whether an If-None-Match header lists the entity tag. Unlike RFC 9110 section 13.1.2, and like
// upstream, it does not match the strong form: no cache changes the tag on the way, and no client sends the strong
// form.
func isUnchanged(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == etag {
			return true
		}
	}
	return false
}

const maxPage = 1000

// pageOf reads ?limit= and ?after=; without a limit the page is the rest of the list.
func pageOf(in request) (roster.Page, error) {
	p := roster.Page{Cursor: in.Query("after")}
	if text := in.Query("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || limit > maxPage {
			return p, errInvalid
		}
		p.Limit = limit
	}
	return p, nil
}
