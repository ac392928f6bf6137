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

// fileSet is a directory of migration files.
type fileSet struct{ files fs.FS }

// embedded are the files in this binary.
var embedded = fileSet{files}

// fileNames returns the names of the migrations in alphabetical order, which is that of their versions.
func (s fileSet) fileNames() []string {
	names, _ := fs.Glob(s.files, "*.sql") // fails only for a pattern that is not well-formed
	return names
}

func (s fileSet) latestVersion() int64 {
	var latest int64
	for _, name := range s.fileNames() {
		// goose leaves out files without a number as well.
		if version, err := goose.NumericComponent(name); err == nil {
			latest = max(latest, version)
		}
	}
	return latest
}

func (s fileSet) hashFiles() string {
	sum := sha256.New()
	for _, name := range s.fileNames() {
		content, _ := fs.ReadFile(s.files, name) // it is there: the files are compiled in
		fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Latest returns the newest version in this binary.
func Latest() int64 { return embedded.latestVersion() }

// Hash returns a hash of all migrations in this binary, in hexadecimal: another one when a file is added, renamed or
// edited. Caches of test databases are named by it.
func Hash() string { return embedded.hashFiles() }
