package console

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/server/rest"
)

const (
	// maxExported bounds the events of a file; director events has no bound.
	maxExported = 10_000
	// maxExportReads bounds how often the log is read for a file. A reading looks at up to 5,000 events, of which it
	// returns those that the filter selects.
	maxExportReads = 20
)

// exportEvents answers with the events that the filter of the page selects, latest first, as the JSON lines that
// director events prints: at most 10,000, of the latest 100,000.
func (c *Console) exportEvents(g *gin.Context) {
	q := queryOf(g)
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	f, err := eventFilter(q)
	if err != nil {
		rest.Fail(g, err)
		return
	}
	// The lines are in memory until all are read: an error in the middle must not look like the end of the file.
	lines, err := readEventLines(ctx, c.options.Store, q, f)
	if err != nil {
		rest.Fail(g, err)
		return
	}
	g.Header("Content-Disposition", `attachment; filename="events.jsonl"`)
	g.Data(http.StatusOK, "application/x-ndjson", lines)
}

// readEventLines reads the events of a file, beginning with the page that the query asks for.
func readEventLines(ctx context.Context, s Store, q query, f opsview.EventFilter) ([]byte, error) {
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	found, err := eventsPageOf(ctx, s, q, f, opsview.MaxPage)
	if err != nil {
		return nil, err
	}
	written := 0
	for reads := 1; ; reads++ {
		for _, e := range found.Events[:min(len(found.Events), maxExported-written)] {
			if err := out.Encode(e.Line()); err != nil {
				return nil, err
			}
			written++
		}
		if found.Next == nil || written == maxExported || reads == maxExportReads {
			return lines.Bytes(), nil
		}
		if found, err = eventsBefore(ctx, s, *found.Next, f, opsview.MaxPage); err != nil {
			return nil, err
		}
	}
}
