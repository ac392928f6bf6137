package pglocal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// longestSocket is the longest path of a Unix socket, in bytes, on the system with the lowest limit: macOS allows 104
// with the final NUL.
const longestSocket = 103

// layout holds the paths of a cluster's files.
type layout struct {
	baseDir, dataDir, partialDir, socketDir, lockFile, passwordFile, logFile string
}

func layoutOf(dir string) (layout, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, err
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	return layout{
		baseDir: dir, dataDir: in("data"), partialDir: in("data.partial"), socketDir: socketDir(dir),
		lockFile: in("lock"), passwordFile: in("password"), logFile: in("postgres.log"),
	}, nil
}

// socketDir returns dir/run or, if that is too long, a path in the temporary directory that depends only on dir and the
// user.
func socketDir(dir string) string {
	run := filepath.Join(dir, "run")
	if len(filepath.Join(run, ".s.PGSQL.65535")) <= longestSocket {
		return run
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(os.TempDir(), fmt.Sprintf("director-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6])))
}

// socketURL returns the URL of a database over the socket, as the superuser.
func (l layout) socketURL(database string, port int) string {
	query := url.Values{"host": {l.socketDir}, "port": {itoa(port)}, "user": {superuser}, "sslmode": {"disable"}}
	// pgx does not decode "+" as a space, and the default directory on macOS contains a space.
	spaces := strings.ReplaceAll(query.Encode(), "+", "%20")
	u := url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: spaces}
	return u.String()
}

// tcpURL returns the URL of a database over TCP, as the superuser, with the password.
func (l layout) tcpURL(database string, port int, password string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, password), Host: "127.0.0.1:" + itoa(port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// quoteListItem quotes an item of a list setting, so that it may contain spaces and commas.
func quoteListItem(item string) string { return `"` + strings.ReplaceAll(item, `"`, `""`) + `"` }

func itoa(n int) string { return strconv.Itoa(n) }
