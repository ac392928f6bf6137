package bevygap

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// servePage answers people who open the address of the matchmaker in a browser.
func (f *Face) servePage(c *gin.Context) {
	c.Header("Cache-Control", "no-cache")
	c.Data(http.StatusOK, "text/html; charset=utf-8", []byte(pageText))
}

const pageText = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Matchmaker</title>
<p>This is the matchmaker of a game. Games connect to <code>/matchmaker/ws</code>.</p></html>
`
