package console

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db/opsview"
)

const (
	// maxExported bounds the events of a file; director events has no bound.
	maxExported = 10_000
	// exportReads bounds how often the log is read for a file, 5,000 events each.
	exportReads = 20
)

// exportEvents answers with the events that the filter of the page selects, latest first, as the JSON lines that
// director events prints: at most 10,000, of the latest 100,000.
func (c *Console) exportEvents(g *gin.Context) {
	q := queryOf(g)
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	f, err := eventFilter(q)
	if err != nil {
		c.failPage(g, err)
		return
	}
	// In memory until all is read: an error in the middle must not look like the end of the file.
	found, err := eventsPageOf(ctx, c.options.Store, q, f, opsview.MaxPage)
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	for written, reads := 0, 1; err == nil; reads++ {
		for _, e := range found.Events[:min(len(found.Events), maxExported-written)] {
			if err := out.Encode(e.Line()); err != nil {
				c.failPage(g, err)
				return
			}
			written++
		}
		if found.Next == nil || written == maxExported || reads == exportReads {
			break
		}
		found, err = eventsBefore(ctx, c.options.Store, *found.Next, f, opsview.MaxPage)
	}
	if err != nil {
		c.failPage(g, err)
		return
	}
	g.Header("Content-Disposition", `attachment; filename="events.jsonl"`)
	g.Data(http.StatusOK, "application/x-ndjson", lines.Bytes())
}
