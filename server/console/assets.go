package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

//go:embed static
var staticFiles embed.FS

// assets are the files of static/. The name under which a file is served contains a hash of its content, so that
// browsers may keep the file for ever and two releases side by side do not mix.
type assets struct {
	contentByName map[string][]byte // by the name under which a file is served
	pathByFile    map[string]string // where a file of static/ is served
}

// loadAssets reads the files that were built in.
func loadAssets() (a assets, err error) {
	a = assets{map[string][]byte{}, map[string]string{}}
	err = fs.WalkDir(staticFiles, "static", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := staticFiles.ReadFile(file)
		if err != nil {
			return err
		}
		// 48 bits of the hash are enough to distinguish the releases of a file.
		hash := sha256.Sum256(content)
		ext := path.Ext(file)
		name := strings.TrimSuffix(path.Base(file), ext) + "." + hex.EncodeToString(hash[:6]) + ext
		a.contentByName[name], a.pathByFile[path.Base(file)] = content, "/static/"+name
		return nil
	})
	return a, err
}

// pathOf returns where a file is served.
func (a assets) pathOf(file string) string { return a.pathByFile[file] }

// serveAsset answers with a file. A file of another release is not found: a page that asks for one has been open since
// before an upgrade, or comes from a replica of that release.
func (a assets) serveAsset(g *gin.Context) {
	name := g.Param("name")
	content, ok := a.contentByName[name]
	if !ok {
		rest.Fail(g, &rest.Problem{Status: http.StatusNotFound, Code: "not_found", Title: "Not found",
			Detail: "There is no such file. Reload the page."})
		return
	}
	g.Header("Content-Type", mime.TypeByExtension(path.Ext(name)))
	g.Header("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(g.Writer, g.Request, name, time.Time{}, bytes.NewReader(content))
}
