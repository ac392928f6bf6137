package cli

import (
	"io"
	"os"
)

// IsTerminal tells whether somebody reads what is written to w as it comes.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
