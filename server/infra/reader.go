package infra

import (
	"embed"

	"github.com/gin-gonic/gin"
	"github.com/swaggest/swgui/v5/static"

	"github.com/lattice-director/director/api"
)

// readerFiles are the page of the reader, and what it adds to Swagger UI.
//
//go:embed reader
var readerFiles embed.FS

// readerPolicy lets the page load files of this origin and call it, and nothing else. No script and no style is inline.
const readerPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// mountReader adds the page that searches the contracts and tries their calls, at /docs/try, with its files below it.
func mountReader(r gin.IRouter) {
	r.GET("/nexis.yaml", serveDocument("application/yaml", api.Nexis()))
	r.GET("/docs/try", servePage(readerPolicy, mustRead(readerFiles, "reader/index.html")))
	for name, contentType := range map[string]string{"reader.js": "text/javascript; charset=utf-8",
		"reader.css": "text/css; charset=utf-8"} {
		r.GET("/docs/try/"+name, serveAsset(contentType, compressBytes(mustRead(readerFiles, "reader/"+name))))
	}
	for name, contentType := range map[string]string{"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
		"swagger-ui.css": "text/css; charset=utf-8"} {
		r.GET("/docs/try/"+name, serveAsset(contentType, mustRead(static.FS, name+".gz")))
	}
}

// mustRead reads a file that is compiled in.
func mustRead(files embed.FS, name string) []byte {
	content, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return content
}
