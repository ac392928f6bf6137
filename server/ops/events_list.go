package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// lastLine is the last line of a page.
type lastLine struct {
	Cursor string `json:"cursor"`
	More   bool   `json:"more"` // more events may follow at once
}

// listEvents answers with a page of JSON lines. The whole page is in memory before the status is sent, so that an error
// in the middle of it still has a status of its own.
func (f *eventsFace) listEvents(c *gin.Context) {
	lines, err := f.pageOfLines(c.Request.Context(), c.Query)
	if err != nil {
		rest.Fail(c, err)
		return
	}
	c.Header("Cache-Control", "no-store")
	c.Data(http.StatusOK, "application/x-ndjson", lines)
}

func (f *eventsFace) pageOfLines(ctx context.Context, query func(string) string) ([]byte, error) {
	a, err := f.readRequest(query, "")
	if err != nil {
		return nil, err
	}
	if err := f.checkCursor(ctx, a); err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	err = f.writeLines(ctx, a, &lines)
	return lines.Bytes(), err
}

// writeLines writes events until there are enough of them, or the end of the log or of the page is reached.
func (f *eventsFace) writeLines(ctx context.Context, a eventsRequest, to *bytes.Buffer) error {
	encode := json.NewEncoder(to)
	encode.SetEscapeHTML(false) // the lines are for programs, and no HTML
	more := true
	for found, read := 0, 0; more && read < maxRead && found < a.maxEvents &&
		to.Len() < maxPageBytes; read += readAtOnce {
		// Each event that is read may be selected: no more are read than there is room for.
		page, err := f.readPage(ctx, a, min(readAtOnce, a.maxEvents-found))
		if err != nil {
			return err
		}
		more = page.IsFull
		for _, e := range page.Events {
			if to.Len() >= maxPageBytes {
				// The rest of the page that was read is read again by the next call, from the last event that is here.
				more = true
				break
			}
			if err := encode.Encode(e.Line()); err != nil {
				return err
			}
			a.afterCursor = e.Cursor()
			found++
		}
		// All of the page is in the answer: the next call begins behind the events that were not selected, too.
		if to.Len() < maxPageBytes {
			a.afterCursor = page.Next
		}
	}
	return encode.Encode(lastLine{a.afterCursor.String(), more})
}
