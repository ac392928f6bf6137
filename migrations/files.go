package migrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed *.sql
var files embed.FS

// set is a directory of migration files.
type set struct{ files fs.FS }

func (s set) fileNames() []string {
	names, _ := fs.Glob(s.files, "*.sql") // the pattern is well-formed, the only error Glob knows
	return names
}

func (s set) latestVersion() int64 {
	var newest int64
	for _, name := range s.fileNames() {
		if version, err := goose.NumericComponent(name); err == nil {
			newest = max(newest, version)
		}
	}
	return newest
}

func (s set) hashFiles() string {
	sum := sha256.New()
	for _, name := range s.fileNames() {
		content, _ := fs.ReadFile(s.files, name) // compiled in: it is there
		fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

var embedded = set{files}

// Latest is the newest version in this binary.
func Latest() int64 { return embedded.latestVersion() }

// Hash names the content of all migrations in this binary, in hexadecimal: it changes when a file is added, renamed or
// edited. Test databases are cached under it.
func Hash() string { return embedded.hashFiles() }
