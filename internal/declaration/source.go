package declaration

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

// The bounds of a declaration: more was not meant as one.
const (
	maxFiles = 4096
	maxBytes = 32 << 20 // of all files
)

// Source is a file with its content.
type Source struct {
	File string // as people name it; "-" is standard input
	Text []byte // at most a byte more than a document may have, so that parsing refuses it
}

// Sources reads files, and the files below directories whose names end in .yaml, .yml or .json, in the order of their
// names. It leaves out what begins with a dot, such as .git. "-" is standard input. Errors: those of the file system,
// one for a directory without such files, and one for more than 4,096 files or 32 MiB.
func Sources(paths []string, stdin io.Reader) (all []Source, err error) {
	size := 0
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := readSource(file, stdin)
			if err != nil {
				return nil, err
			}
			all, size = append(all, Source{file, text}), size+len(text)
			if len(all) > maxFiles || size > maxBytes {
				return nil, fmt.Errorf("these are too many files: %d and %d MiB are allowed in all", maxFiles,
					maxBytes>>20)
			}
		}
	}
	return all, nil
}

// One reads one file; "-" is standard input. A directory in which only one file is of the wanted kind, such as a mounted
// ConfigMap, stands for that file. Errors: those of Sources, and one for a directory of several files.
func One(path string, stdin io.Reader) (Source, error) {
	all, err := Sources([]string{path}, stdin)
	switch {
	case err != nil:
		return Source{}, err
	case len(all) > 1:
		return Source{}, fmt.Errorf("%s has %d files: name one of them, or use 'director apply', which takes directories",
			path, len(all))
	}
	return all[0], nil
}

// filesOf returns the files that a path names.
func filesOf(path string) (files []string, err error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	root := path + string(filepath.Separator) // so that the path may be a symbolic link, as mounted ConfigMaps are
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		isHidden := file != root && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isHidden:
			return fs.SkipDir
		case !entry.IsDir() && !isHidden && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)):
			files = append(files, filepath.Clean(file))
		}
		if len(files) > maxFiles {
			return fmt.Errorf("%s has more than %d files: name a directory with less", path, maxFiles)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no file whose name ends in .yaml, .yml or .json", path)
	}
	return files, err
}

func readSource(file string, stdin io.Reader) (text []byte, err error) {
	from := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = opened.Close() }() // it was only read
		from = opened
	}
	text, err = io.ReadAll(io.LimitReader(from, poolfile.MaxBytes+1)) // the most that a document may have
	if err != nil {
		err = errors.Join(fmt.Errorf("%s cannot be read", file), err)
	}
	return text, err
}
